// The component's entry for a model provider. The build puts the plugin's own
// module in the place of `keepsake:plugin`.

import * as log from 'keepsake:host/log@0.1.0';
import * as settings from 'keepsake:host/settings@0.1.0';
import plugin from 'keepsake:plugin';

import { Answer, modelInfo } from '../answer.js';
import { Context } from '../session.js';
import { expectKind, guarded } from './guard.js';

expectKind(plugin, 'model-provider', 'defineModelProvider');

const context = new Context({ log, settings });

const next = guarded(log, (answer) => answer.next());
const finish = guarded(log, (answer) => answer.finish());

/** The engine looks for a resource's functions in its class. */
class Completion {
  #answer;

  constructor(answer) {
    this.#answer = answer;
  }

  next() {
    return next(this.#answer);
  }

  finish() {
    return finish(this.#answer);
  }

  [Symbol.dispose ?? Symbol.for('dispose')]() {
    return this.#answer.close();
  }
}

export const model = {
  Completion,
  info: guarded(log, async () => modelInfo(await plugin.info(context))),
  chat: guarded(log, async (request) => new Completion(await Answer.begin(plugin, context, request))),
};
