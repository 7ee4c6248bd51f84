"""The nouns of the field as immutable values. No I/O here."""

from turngap.data.conversation import (
    Conversation,
    Decision,
    Segment,
    Source,
    check,
    decisions,
    requires_tools,
    results_of,
    segments,
)
from turngap.data.message import (
    ABSENT_RESULT,
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from turngap.data.prediction import Cause, Failure, Finish, Prediction, Usage
from turngap.data.score import Figure, Score, Spending, Verdict
from turngap.data.trajectory import Acted, CallVerdict, Category, Event, Problem, Repaired, Spoken, Trajectory

__all__ = [
    "ABSENT_RESULT",
    "Acted",
    "AssistantMessage",
    "CallVerdict",
    "Category",
    "Cause",
    "Conversation",
    "Decision",
    "Event",
    "Failure",
    "Figure",
    "Finish",
    "Message",
    "Prediction",
    "Problem",
    "Repaired",
    "Score",
    "Segment",
    "Source",
    "Spending",
    "Spoken",
    "SystemMessage",
    "ToolCall",
    "ToolMessage",
    "ToolSpec",
    "Trajectory",
    "Usage",
    "UserMessage",
    "Verdict",
    "check",
    "decisions",
    "requires_tools",
    "results_of",
    "segments",
]
