// The component's entry for an agent. The build puts the plugin's own module in
// the place of `keepsake:plugin`.

import * as agents from 'keepsake:host/agents@0.1.0';
import * as embeddings from 'keepsake:host/embeddings@0.1.0';
import * as log from 'keepsake:host/log@0.1.0';
import * as model from 'keepsake:host/model@0.1.0';
import * as session from 'keepsake:host/session@0.1.0';
import * as settings from 'keepsake:host/settings@0.1.0';
import plugin from 'keepsake:plugin';

import { optionalJson } from '../json.js';
import { toReply } from '../plugin.js';
import { Session } from '../session.js';
import { expectKind, guarded } from './guard.js';

expectKind(plugin, 'agent', 'defineAgent');

const host = { agents, embeddings, log, model, session, settings };

export const agent = {
  describe: guarded(log, () => {
    const { name, version, summary, profileSchema } = plugin.description;
    return { name, version, summary, profileSchema: optionalJson(profileSchema), extras: undefined };
  }),
  handle: guarded(log, async (turn) => {
    const { text, data } = toReply(await plugin.handle(new Session(host), turn));
    return { text, data: optionalJson(data, "a reply's data") };
  }),
};
