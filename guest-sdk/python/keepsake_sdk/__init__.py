"""What Keepsake plugins in Python are written with."""

from .agent_loop import LoopOutcome, run_agent_loop
from .answer import AnswerEnd, Question, ToolCallPiece, ToolDefinition
from .conversation import CONVERSATION_BYTES, SUMMARY_BYTES, Conversation, Exchange
from .error import KeepsakeError
from .memory import Branch, Scope
from .memory_tools import memory_tools
from .message import Message, Response, ToolCall, Usage, assistant, system, user
from .plugin import Agent, EmbeddingProvider, ModelProvider, Reply
from .records import (
    EntryRef,
    Fact,
    ForkDifference,
    MergeReport,
    Recalled,
    Recollection,
    Remembered,
)
from .sandbox import ExecOutput, ExecResult, Sandbox
from .sandbox_tools import sandbox_tools
from .session import Child, Context, EmbeddingInfo, ModelInfo, Session, SessionInfo
from .tool import Tool, Toolbox, tool
from .vector import cosine, normalise

__all__ = [
    "CONVERSATION_BYTES",
    "SUMMARY_BYTES",
    "Agent",
    "AnswerEnd",
    "Branch",
    "Child",
    "Context",
    "Conversation",
    "EmbeddingInfo",
    "EmbeddingProvider",
    "EntryRef",
    "Exchange",
    "ExecOutput",
    "ExecResult",
    "Fact",
    "ForkDifference",
    "KeepsakeError",
    "LoopOutcome",
    "MergeReport",
    "Message",
    "ModelInfo",
    "ModelProvider",
    "Question",
    "Recalled",
    "Recollection",
    "Remembered",
    "Reply",
    "Response",
    "Sandbox",
    "Scope",
    "Session",
    "SessionInfo",
    "Tool",
    "ToolCall",
    "ToolCallPiece",
    "ToolDefinition",
    "Toolbox",
    "Usage",
    "assistant",
    "cosine",
    "memory_tools",
    "normalise",
    "run_agent_loop",
    "sandbox_tools",
    "system",
    "tool",
    "user",
]
