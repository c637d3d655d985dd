// All fuzz targets. `npm run test:fuzz -- --target <name>` runs one of them.
import type { Target } from './target.ts';
import { EVENTS } from './targets/events.ts';
import { GUARDS } from './targets/guards.ts';
import { HTTP } from './targets/http.ts';
import { KEYS } from './targets/keys.ts';
import { MESSAGES } from './targets/messages.ts';
import { TOKENS } from './targets/tokens.ts';

export const TARGETS: readonly Target[] = [...HTTP, ...KEYS, ...TOKENS, ...MESSAGES, ...EVENTS, ...GUARDS];
