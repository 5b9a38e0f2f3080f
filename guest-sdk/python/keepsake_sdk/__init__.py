"""What Keepsake plugins in Python are written with."""

from .agent_loop import LoopOutcome, run_agent_loop
from .conversation import CONVERSATION_BYTES, SUMMARY_BYTES, Conversation, Exchange
from .error import KeepsakeError
from .memory import Scope
from .memory_tools import memory_tools
from .message import Message, ToolCall, assistant, system, user
from .plugin import Agent, EmbeddingInfo, EmbeddingProvider, Reply
from .records import EntryRef, Fact, Recalled, Recollection, Remembered
from .sandbox import ExecResult, Sandbox
from .sandbox_tools import sandbox_tools
from .session import Context, ModelInfo, Session, SessionInfo
from .tool import Tool, Toolbox, tool
from .vector import cosine, normalise

__all__ = [
    "CONVERSATION_BYTES",
    "SUMMARY_BYTES",
    "Agent",
    "Context",
    "Conversation",
    "EmbeddingInfo",
    "EmbeddingProvider",
    "EntryRef",
    "Exchange",
    "ExecResult",
    "Fact",
    "KeepsakeError",
    "LoopOutcome",
    "Message",
    "ModelInfo",
    "Recalled",
    "Recollection",
    "Remembered",
    "Reply",
    "Sandbox",
    "Scope",
    "Session",
    "SessionInfo",
    "Tool",
    "ToolCall",
    "Toolbox",
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
