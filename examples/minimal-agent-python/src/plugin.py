"""The smallest agent that remembers: what a customer says is kept, and what
they ask is answered from it."""

from keepsake_sdk import Agent, Session


class Plugin(Agent):
    name = "minimal-agent"
    version = "0.1.0"
    summary = "Keeps what it is told."

    def handle(self, session: Session, message: str) -> str:
        memory = session.scope()
        if not message.rstrip().endswith("?"):
            memory.remember(message)
            return "I will remember that."
        found = memory.recall(message, limit=1).facts
        return f"You told me: {found[0].fact.content}" if found else "You have not told me."
