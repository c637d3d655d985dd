// A worker whose workflows run in a sandbox on the main thread. In the SDK's thread the sandbox costs more than the
// workflow: messages for each step, a watchdog thread for each call, and a stack trace for each promise.
import { Script } from 'node:vm';
import { type CompiledWorkerOptions, Worker } from '@temporalio/worker';
import { ReusableVMWorkflowCreator } from '@temporalio/worker/lib/workflow/reusable-vm.js';

type Bundle = ConstructorParameters<typeof ReusableVMWorkflowCreator>[1];

/** Without a time limit a call into the sandbox starts no watchdog. All workflows are our own. */
const NO_LIMIT = undefined as unknown as number;

/**
 * Its workflows have no `__stack_trace`. As in the SDK's thread, all workflows share one V8 context, and each has its
 * own globals.
 */
export class SandboxWorker extends Worker {
  protected static override async createWorkflowCreator(
    bundle: Bundle,
    { activities }: CompiledWorkerOptions,
  ): Promise<ReusableVMWorkflowCreator> {
    const script = new Script(bundle.code, { filename: bundle.filename });
    return new ReusableVMWorkflowCreator(script, bundle, NO_LIMIT, new Set(activities.keys()));
  }
}
