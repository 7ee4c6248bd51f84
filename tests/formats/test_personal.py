"""Finding and replacing likely personal data."""

from __future__ import annotations

import pytest

from turngap.data import AssistantMessage, Conversation, ToolCall, ToolMessage, UserMessage
from turngap.formats.personal import Redactor, find, find_in


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("write to ann.o-neil+x@mail.example.org.", "email", "ann.o-neil+x@mail.example.org"),
        ("call 703-607-3363 now", "phone", "703-607-3363"),
        ("call (703) 607-3363", "phone", "(703) 607-3363"),
        ("call +44 20 7946 0958", "phone", "+44 20 7946 0958"),
        ('{"phone_number": "7036073363"}', "phone", "7036073363"),
        ("card 4111 1111 1111 1111 please", "card", "4111 1111 1111 1111"),
        ("Authorization: Bearer SENTINEL-5", "credential", "SENTINEL-5"),
        ('{"session_token": "98a5a87a-7714-b404"}', "credential", "98a5a87a-7714-b404"),
        ("my password is eehahTe2t.", "credential", "eehahTe2t"),
        ("key sk-abcdefghijklmnop1234", "credential", "sk-abcdefghijklmnop1234"),
    ],
)
def test_found(text: str, kind: str, value: str) -> None:
    """Values of each kind are found, exactly as they stand."""
    assert [(found.kind, found.value) for found in find(text)] == [(kind, value)]


@pytest.mark.parametrize(
    "text",
    [
        "order #W2378156, item 1656367028, 2031-05-02 at 10:30:00, 2024-05-15 15:00:00 EST",
        "credit_card_4421486 and 4111 1111 1111 1112",
        "basic economy, $1,234.56, HAT136, a@b, @home, the bearer of bad news",
        '{"max_tokens": 1024, "token_type": "none", "password": ""}',
        "user12@redacted.example redacted-secret-3 555-010-0004",
    ],
)
def test_not_found(text: str) -> None:
    """Order numbers, dates, prices, wrong check digits, empty values and our own stand-ins are nothing personal."""
    assert list(find(text)) == []


@pytest.mark.parametrize(
    "key",
    [
        *("phone", "Phone", "PHONE", "telephone", "mobile", "fax", "phone_number", "phoneNumber", "PhoneNumber"),
        *("customer-phone", "homePhone", "home_phone", "HOME_PHONE", "workphone", "cellphone", "mobilePhoneNumber"),
        *("phonenumber", "mobile_no", "contactPhone2", "faxNumber", "primary_phone", "phone1", "phone_home"),
    ],
)
def test_keys_of_telephone_numbers(key: str) -> None:
    """A key one word of which is a telephone makes digits a number, however its words are joined."""
    assert [(found.kind, found.value) for found in find(f'{{"{key}": "7036073363"}}')] == [("phone", "7036073363")]


@pytest.mark.parametrize(
    "key",
    [
        *("Headphones", "headphone", "HeadPhones", "Earphones", "Smartphone", "SmartPhone", "smart_phone", "iPhone"),
        *("Microphone", "saxophone", "Automobile", "automobile_id", "phone_id", "phoneModel", "mobile_item_id"),
        *("phonebook", "phonetic_code", "immobile", "faxed", "Gramophone"),
    ],
)
def test_keys_of_goods_are_no_telephones(key: str) -> None:
    """A key in which the letters of "phone" only occur, or that names a thing, leaves the id behind it alone."""
    assert list(find(f'{{"{key}": "6992792935"}}')) == []


def conversation(mail: str = "Ann@Mail.org") -> Conversation:
    """A conversation in which the same values stand in text, arguments and results."""
    call = ToolCall(name="find", arguments={"email": "ann@mail.org", "phone": 7036073363, "seats": 2})
    return Conversation(
        id="c",
        messages=(
            UserMessage(content=f"I am {mail}, phone 7036073363, password tell9me"),
            AssistantMessage(calls=(call,)),
            ToolMessage(name="find", content='{"email": "ann@mail.org", "password": "tell9me", "alt": "703-607-3363"}'),
            AssistantMessage(content="Found ann@mail.org."),
        ),
    )


def test_sec_11_redaction_is_consistent() -> None:
    """SEC-11: one value has one stand-in in text, arguments and results, so that matching still works."""
    redactor = Redactor()
    made = redactor.redact(conversation())
    user, calling, result, text = made.messages
    assert isinstance(calling, AssistantMessage)
    assert calling.calls[0].arguments == {"email": "user1@redacted.example", "phone": 5550100001, "seats": 2}
    assert user.content == "I am user1@redacted.example, phone 5550100001, password redacted-secret-1"
    assert '"alt": "555-010-0001"' in result.content
    assert text.content == "Found user1@redacted.example."
    assert redactor.counts == {"email": 1, "phone": 1, "card": 0, "credential": 1}


def test_different_values_stay_different() -> None:
    """Two people never become one, across conversations."""
    redactor = Redactor()
    mails = [redactor.redact(conversation(f"p{i % 2}@x.org")).messages[0].content.split()[2] for i in range(3)]
    assert mails[0] == mails[2] != mails[1]


def test_nothing_is_found_afterwards() -> None:
    """A redacted conversation holds nothing more to find, and redacting it again changes nothing."""
    made = Redactor().redact(conversation())
    assert find_in(made) == set()
    assert Redactor().redact(made) == made


def test_cards_keep_their_shape() -> None:
    """A stand-in for a card number has its shape and a right check digit, and is itself no find."""
    made = Redactor().redact(Conversation(id="c", messages=(UserMessage(content="4111-1111-1111-1111"),)))
    text = made.messages[0].content
    assert [len(part) for part in text.split("-")] == [4, 4, 4, 4]
    assert list(find(text)) == []
