// The entry `@countersign/agent`. It imports no `node:` module and runs in any JavaScript runtime.

export { AgentError, type LocalErrorCode } from './agent-error.ts';
