// The component's entry for an embedding provider. The build puts the plugin's
// own module in the place of `keepsake:plugin`.

import * as log from 'keepsake:host/log@0.1.0';
import * as settings from 'keepsake:host/settings@0.1.0';
import plugin from 'keepsake:plugin';

import { optionalJson } from '../json.js';
import { Context } from '../session.js';
import { expectKind, guarded } from './guard.js';

/** What the host asks for at once where the provider names no bound. */
const MAX_TEXTS = 256;
const MAX_TEXT_BYTES = 8 * 1024;

expectKind(plugin, 'embedding-provider', 'defineEmbeddingProvider');

const context = new Context({ log, settings });

export const embeddings = {
  info: guarded(log, async () => {
    const { extras, ...info } = await plugin.info(context);
    return {
      normalised: true,
      maxTexts: MAX_TEXTS,
      maxTextBytes: MAX_TEXT_BYTES,
      relevanceThreshold: undefined,
      ...info,
      extras: optionalJson(extras),
    };
  }),
  embed: guarded(log, (texts, kind) => plugin.embed(context, texts, kind)),
};
