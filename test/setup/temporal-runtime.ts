// The runtime of Temporal's SDK for tests. A process has one, and serves several test files.
import { installTemporalRuntime } from '../../src/platform/temporal/worker.ts';

let installed = false;

/** Installs the runtime, silent, unless this process has it already. */
export function installTestRuntime(): void {
  if (!installed) installTemporalRuntime(() => undefined);
  installed = true;
}
