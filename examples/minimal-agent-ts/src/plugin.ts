// The smallest agent that remembers: what a customer says is kept, and what
// they ask is answered from it.

import { defineAgent, type Session, type Turn } from '#keepsake';

export default defineAgent({
  description: { name: 'minimal-agent', version: '0.1.0', summary: 'Keeps what it is told.' },

  handle(session: Session, turn: Turn): string {
    const memory = session.scope();
    if (!turn.message.trimEnd().endsWith('?')) {
      memory.remember(turn.message);
      return 'I will remember that.';
    }
    const [known] = memory.recall(turn.message, { limit: 1 }).facts;
    return known ? `You told me: ${known.fact.content}` : 'You have not told me.';
  },
});
