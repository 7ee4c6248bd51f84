"""How customers and the agent of the sample conversations word things.

Each key has several wordings; which one is said is drawn by the generator. Fields in braces are filled with facts of
the shop, so that no wording can contradict a tool result.
"""

from __future__ import annotations

CUSTOMER: dict[str, tuple[str, ...]] = {
    "greet": (
        "Hi.",
        "Hello!",
        "Good morning.",
        "Hey there,",
        "Hi, hope you can help.",
        "Hello, quick one:",
        "",
        "",
        "",
    ),
    # Who they are
    "email": ("My email is {email}.", "You'll find me under {email}.", "The account is {email}.", "It's {email}"),
    "name": (
        "I don't have the email at hand. I'm {first} {last}, zip {zip}.",
        "Not sure which email I used. {first} {last}, zip code is {zip}",
        "Name is {first} {last} and my zip is {zip}.",
    ),
    "name.retry": (
        "Hm, then I must have used another one. {first} {last}, zip {zip}.",
        "That's odd. Try my name then: {first} {last}, {zip}.",
        "Maybe it was my work address, no idea. {first} {last}, zip code {zip}.",
    ),
    "stranger": (
        "Really? {first} {last}, zip {zip}, that's me.",
        "Try {first} {last}, zip code {zip}.",
    ),
    # Which order
    "order": ("It's {order}.", "{order}", "The number is {order}.", "That would be {order}."),
    "order.corrected": (
        "Sorry, I misread it. It's {order}.",
        "Oh, typo on my side: {order}",
        "My mistake, the confirmation says {order}.",
        "Let me look again... {order}.",
    ),
    # Requests: {what} is "order LF-..." or "the order with the ..." or "an order"
    "status": (
        "Where is {what}?",
        "Can you tell me what's going on with {what}?",
        "I'd like to know when {what} will arrive.",
        "Any news on {what}?",
    ),
    "cancel.not_needed": (
        "Please cancel {what}, I no longer need it.",
        "I'd like to cancel {what}. I don't need the stuff anymore.",
        "Can you cancel {what}? Plans changed and I don't need it now.",
    ),
    "cancel.mistake": (
        "I clicked too fast and bought something by mistake. Please cancel {what}.",
        "Can you cancel {what}? It was ordered by mistake.",
        "My kid ordered from my phone by mistake, so {what} has to be cancelled.",
    ),
    "cancel.too_slow": (
        "I need to cancel {what}, it takes too long to get here.",
        "Please cancel {what}. I found it in a store nearby and yours is too slow.",
        "Cancel {what} please, it won't be here in time.",
    ),
    "cancel.insist": (
        "But I don't want it anymore. Can't you call the parcel back?",
        "There must be a way to stop it?",
        "That's annoying. Are you sure it can't be stopped?",
    ),
    "cancel.keep": (
        "Hm, on second thought no, leave it as it is.",
        "Wait. If it comes by {date} I'd rather keep it. Don't cancel.",
        "Actually no, let's keep the order.",
    ),
    "cancel.readdress": (
        "Wait, could you send it to {street}, {city} {zip} instead? Then I'd keep it.",
        "Hold on. My real problem is that I'm moving. If it can go to {street}, {city}, {zip}, don't cancel.",
    ),
    "address.given": (
        "I moved. Please send {what} to {street}, {city} {zip}.",
        "{what} has to go to another address: {street}, {city}, zip {zip}.",
        "Can {what} be delivered to {street} in {city}, {zip}, instead?",
    ),
    "address.asked": (
        "I need to change the delivery address of {what}.",
        "I gave the wrong address for {what}, can that be fixed?",
        "Can you still change where {what} goes?",
    ),
    "address.tell": (
        "{street}, {city} {zip}",
        "The new one is {street}, {city}, zip {zip}.",
        "Please use {street}, {city}, {zip}.",
    ),
    "address.yes.save": (
        "Yes, and please keep that address for future orders too.",
        "Yes please. Save it for my next orders as well.",
    ),
    "address.yes": ("Yes, just for this order.", "Yes, but only for this one.", "Correct, go ahead. Only this order."),
    "return": (
        "I want to return {items}{source}.",
        "I'd like to send back {items}{source}.",
        "{items}{source}: not what I hoped for. How do I send that back?",
        "Can I return {items}{source}?",
    ),
    "return.credit": (
        "Yes. Store credit is fine for me, actually I'd prefer it.",
        "Yes, but make it store credit please.",
    ),
    "return.more": (
        "Yes, and {items} from the same order too, please.",
        "Could you add {items}? Same order.",
    ),
    "return.insist": (
        "I was travelling and only opened the box now. Can't you make an exception?",
        "It's hardly been used. Please, just this once?",
        "I've been a customer for years. Is there nobody who can decide otherwise?",
    ),
    "exchange": (
        "I'd like to exchange {items}{source} for one {wish}.",
        "Can I swap {items}{source}? I need one {wish}.",
        "{items}{source} isn't right for me. I'd rather have one {wish}.",
    ),
    "exchange.pick": (
        "Then one {wish}, please.",
        "Too bad. I'll take one {wish} then.",
        "OK, make it one {wish}.",
    ),
    "exchange.switch": (
        "Hm, wait. Is there also one {wish}? I think I'd like that better.",
        "Let me change my mind: one {wish}, if you have it.",
    ),
    "late": (
        "{what} should have been here days ago. What's happening?",
        "I'm still waiting for {what}. You promised it would be here by now!",
        "{what} is late and I'm getting a bit impatient.",
    ),
    "late.more": (
        "Can I get a second one? It's really late.",
        "Only 10? Make it two coupons, please.",
    ),
    "damage": (
        "{items}{source} arrived broken.",
        "I unpacked {items}{source} and there's damage all over.",
        "{items}{source} came damaged, the box was crushed.",
    ),
    "payment": (
        "I was charged twice for {what}.",
        "My statement shows two charges for {what}. I want one of them back.",
        "There's a problem with the payment of {what}, the amount on my card is wrong.",
    ),
    "friend": (
        "Could you check {order}? It's my sister's.",
        "Can you tell me where {order} is? My flatmate ordered it.",
        "What about {order}? A friend asked me to find out.",
    ),
    "product": (
        "Do you have {product} ({id}) {wish}?",
        "Is {product}, number {id}, in stock {wish}?",
        "I'm looking at {product}, {id} on your site. Can I get it {wish}?",
    ),
    "product.other": ("And one {wish}?", "What about one {wish}?", "OK. Is there one {wish} too?"),
    # Answers
    "yes": (
        "Yes, please.",
        "Yes, go ahead.",
        "Yes",
        "Yes, that's right.",
        "Sure, do it.",
        "Sounds good, yes.",
        "Yes please!",
        "Right, please do.",
    ),
    "next": (
        "Thanks. Another thing:",
        "Great. There is something else.",
        "Good. While I'm here:",
        "OK. Next:",
        "One more thing.",
    ),
    "next.sad": ("I see. Another thing:", "Pity. One more question.", "OK then. Next:"),
    "next.asked": (
        "Yes, one more thing.",
        "There is something else.",
        "Actually, yes.",
        "Yes:",
        "Oh, and while I'm here:",
    ),
    "thanks": (
        "That's it, thank you.",
        "Perfect, thanks.",
        "Great, thank you so much.",
        "That was everything, cheers.",
        "All good now, thanks for the help.",
        "Super, thanks.",
    ),
    "thanks.asked": (
        "No, that's all. Thanks!",
        "Nothing else. Have a good day.",
        "No thanks, that was everything.",
        "That's it, thank you.",
        "No, I'm good. Thank you!",
    ),
    "resigned": (
        "OK, then that's how it is. Bye.",
        "Fine. Thanks anyway.",
        "Not what I hoped for, but thanks.",
        "Alright, I see. Thank you.",
    ),
    # Questions that the policy answers
    "ask.returns": ("How long do I have to send something back?", "What's your return window?"),
    "ask.refund": ("And when would I see the money?", "How fast are refunds?"),
    "ask.delivery": ("How long does delivery take?", "If I order today, when does it arrive?"),
    "ask.cost": ("What do you charge for shipping?", "Is shipping free?"),
    "ask.countries": ("Do you ship to Canada?", "I live in Vancouver, do you deliver there?"),
    "ask.europe": ("Do you ship to Germany?", "Could I have a present sent to my aunt in Spain?"),
    "ask.cancel": ("Can an order still be cancelled after I placed it?", "Until when can I cancel something?"),
    "ask.exchange": ("Can I swap something for a different product?", "Can I exchange a lamp for a blanket?"),
    "ask.late": ("What happens if my order is late?", "Do I get anything if you deliver late?"),
    "ask.weather": ("Will it be sunny in Dunmore this weekend?", "Which football team should I bet on?"),
    "ask.discount": ("Can you give me 20 percent off, just because?", "Got any discount codes for me?"),
}

AGENT: dict[str, tuple[str, ...]] = {
    # Who and which
    "who": (
        "I can help with that. What is the email of your account?",
        "Sure. Could you tell me the email address you ordered with?",
        "Of course. Please give me your account's email, or your name and zip code.",
    ),
    "who.retry": (
        "I can't find an account with that email. Could you give me your first and last name and your zip code?",
        "There is no account under {email}. Let's try your full name and zip code instead.",
    ),
    "who.never": (
        (
            "I'm sorry, there is no account with that name and zip code either. Without it I can't open any order. "
            "The order confirmation shows the email that was used."
        ),
        (
            "I can't find that one either, and I can only speak about orders once I have it. Please look up the email "
            "in your order confirmation and come back."
        ),
    ),
    "which": (
        "Thank you, {first}. Which order is it about?",
        "Found you, {first}. What is the order number?",
        "Thanks, {first}. Could you tell me the number of the order?",
    ),
    "which.next": ("Which order is that?", "Sure. What is the number of that order?", "Of course. Which one is it?"),
    "which.retry": (
        "I can't find an order {order}. Could you check the number?",
        "There is no order {order} here. Is there perhaps a typo in it?",
        "The system doesn't know {order}. Please have another look at the number.",
    ),
    # Requests
    "status.processing": (
        "Order {order} is still being prepared. It should arrive by {promised}.",
        "{order} is processing and has not left us yet; the promised date is {promised}.",
    ),
    "status.shipped": (
        "Order {order} has shipped and should be with you by {promised}.",
        "{order} is on its way. We promised it for {promised}, and that still holds.",
    ),
    "status.delivered": (
        "Order {order} was delivered on {delivered} to {street}, {city}.",
        "According to our records {order} arrived on {delivered} at {street} in {city}.",
    ),
    "cancel.propose": (
        "Order {order} ({items}) is still processing and can be cancelled. {total} would go to your {paid}. Shall I?",
        "I can cancel {order} with {items} and refund {total} to your {paid}. Do you want me to do that?",
        "{order} has not shipped yet. If I cancel it, you get {total} back on your {paid}. Shall I go ahead?",
    ),
    "cancel.done": (
        "Order {order} is cancelled. {total} will be back on your {paid} in 5 to 7 days.",
        "Done: {order} is cancelled, and the refund of {total} to your {paid} takes 5 to 7 days.",
    ),
    "cancel.kept": ("No problem, {order} stays as it is.", "Fine, I have left {order} untouched."),
    "cancel.shipped": (
        "I'm sorry, {order} has shipped, so it can't be cancelled. Once it arrives you have 30 days to return it.",
        (
            "{order} is already on its way, and only processing orders can be cancelled. You can return it within "
            "30 days of delivery."
        ),
    ),
    "cancel.firm": (
        "I understand, but a shipped order can't be stopped. Returning it after it arrives is the way to go.",
        "I'm afraid there is no way to call it back. After delivery you can return it within 30 days.",
    ),
    "address.ask": ("What is the new address?", "Sure, where should {order} go? Street, city and zip code, please."),
    "address.propose": (
        "I will send {order} to {street}, {city} {zip}. Is that right?",
        "{order} is still processing, so that works. New address: {street}, {city} {zip}. Shall I change it?",
    ),
    "address.done": (
        "{order} now goes to {street}, {city} {zip}.",
        "All set, {order} will be sent to {street}, {city} {zip}.",
    ),
    "address.done.save": (
        "{order} now goes to {street}, {city} {zip}, and I saved the address for later orders.",
        "Done. {order} and your later orders will be sent to {street}, {city} {zip}.",
    ),
    "return.propose": (
        "I can start a return for {items} from {order}. The refund would be {amount} to your {paid}. Shall I?",
        "{order} was delivered on {delivered}, so a return is possible: {items}, {amount} back to your {paid}. OK?",
        "That works. I would take back {items} from {order} and refund {amount} to your {paid}. Do you agree?",
    ),
    "return.done": (
        "The return is set up under {return_id}. {amount} goes to your {paid} 5 to 7 days after we get the parcel.",
        "Done, return {return_id} is open. You will get {amount} to your {paid}, which takes 5 to 7 days.",
    ),
    "return.done.credit": (
        "The return is set up under {return_id}, and you get {amount} as store credit.",
        "Done, return {return_id} is open. {amount} will be added as store credit.",
    ),
    "return.final": (
        "I'm sorry, {items} can't be returned: that is a final sale item.",
        "Unfortunately the system does not allow it, as {items} is final sale.",
    ),
    "return.rest": (
        "I can still return {items} for {amount} to your {paid}. Shall I?",
        "The return would then be for {items} only, {amount} to your {paid}. Do you want that?",
    ),
    "return.old": (
        "I'm sorry, {order} was delivered on {delivered}. That is more than 30 days ago, so it can't be returned.",
        "{order} arrived on {delivered}, and returns are possible for 30 days only. I can't take it back.",
    ),
    "return.escalate": (
        "I can't make exceptions myself, but I can pass you on to a colleague. Would you like that?",
        "That is not mine to decide. Shall I hand you over to a colleague?",
    ),
    "exchange.propose": (
        "We have the {item} {wish} in stock. {difference} Shall I exchange it?",
        "Good news, the {item} is available {wish}. {difference} Do you want me to set up the exchange?",
    ),
    "exchange.out": (
        "I'm sorry, the {item} is out of stock {wish}. Available are: {options}.",
        "There is none left {wish}. For the {item} I could offer: {options}. Would one of these do?",
    ),
    "exchange.done": (
        "The exchange is set up under {exchange_id}; the new {item} leaves once we have the old one.",
        "Done, exchange {exchange_id} is open. We send the {item} {wish} when yours has arrived here.",
    ),
    "late.offer": (
        (
            "I'm sorry. {order} was promised for {promised} and is still on its way. I can give you a 10 dollar "
            "coupon for the wait. Would you like it?"
        ),
        ("You are right, {order} should have arrived by {promised}. It is late. May I offer you a 10 dollar coupon?"),
    ),
    "late.done": (
        "Here it is: {coupon}, worth 10 dollars. Again, sorry for the delay.",
        "Your 10 dollar coupon is {coupon}. You can use it on your next order.",
    ),
    "late.once": (
        "I understand, but there is only one coupon for each late order.",
        "I'm sorry, one coupon for a late order is all I can give.",
    ),
    "damage.offer": (
        "I'm sorry to hear that. I see {items} in {order}. Damage is handled by a colleague; shall I hand you over?",
        "That should not happen, sorry. My colleagues take care of damaged goods like {items}. May I transfer you?",
    ),
    "payment.offer": (
        "I see {order} over {total}, paid with {paid}. A colleague has to look into the payment. Shall I transfer you?",
        "Payments are checked by a colleague. {order} shows {total} with {paid} here. May I hand you over?",
    ),
    "transfer.done": (
        "You are in the queue; a colleague will be with you shortly.",
        "Thank you. I have handed you over, someone will take care of you soon.",
    ),
    "friend": (
        "I'm sorry, {order} does not belong to your account, so I can't say anything about it.",
        "{order} is not one of your orders. Its owner would have to contact us.",
    ),
    "product.in": (
        "Yes, the {product} is in stock {wish}, at {price}.",
        "We have the {product} {wish} for {price}.",
    ),
    "product.out": (
        "I'm sorry, the {product} is out of stock {wish}.",
        "The {product} is sold out {wish} at the moment.",
    ),
    "else": ("Anything else?", "Is there anything else I can do?", "Can I help with something else?", "", ""),
    "bye": (
        "You're welcome. Have a nice day!",
        "My pleasure, {first}. Goodbye!",
        "Thank you for shopping with Larkfield.",
        "Glad I could help. Take care!",
        "You're welcome, {first}.",
    ),
    "bye.sorry": (
        "Thank you for your patience. Goodbye.",
        "I'm sorry it isn't better news. Goodbye!",
        "Thank you for understanding.",
    ),
    "bye.chat": ("You're welcome!", "Happy to help. Have a nice day!", "Thank you for asking. Goodbye!"),
    # Questions that the policy answers
    "ask.returns": (
        "Delivered items can be returned or exchanged within 30 days of delivery.",
        "You have 30 days from the day of delivery.",
    ),
    "ask.refund": ("Refunds take 5 to 7 days.", "The money is usually there after 5 to 7 days."),
    "ask.delivery": ("Delivery takes 3 to 5 working days.", "Please count on 3 to 5 working days."),
    "ask.cost": (
        "Delivery costs 4.95 dollars; from 50 dollars on it is free.",
        "It is free from 50 dollars. Below that we charge 4.95 dollars.",
    ),
    "ask.countries": ("Yes, we ship to Canada and the US.", "We do: Canada and the US are where we ship to."),
    "ask.europe": (
        "I'm sorry, we only ship to the US and Canada.",
        "Unfortunately not. We ship to the US and Canada only.",
    ),
    "ask.cancel": (
        "Yes, as long as it is still processing. After it has shipped you can only return it.",
        "Any order that is still processing can be cancelled.",
    ),
    "ask.exchange": (
        "An exchange is only possible for another option of the same product. You could return it and buy another.",
        "I'm afraid not: exchanges are for another option of the same product.",
    ),
    "ask.late": (
        "If an order is later than promised, you can get one 10 dollar coupon for it.",
        "Then we offer one 10 dollar coupon for that order.",
    ),
    "ask.weather": (
        "I'm afraid I can only help with orders and products of our shop.",
        "That is beyond me, sorry. I only know about Larkfield.",
    ),
    "ask.discount": (
        "I'm sorry, the only coupon I can give is for orders that arrive late.",
        "I can't give discounts, except a coupon when an order is late.",
    ),
}
