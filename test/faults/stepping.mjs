// Loaded into a worker process before anything else: tells the parent of each step that the process takes for a
// workflow, and stops at those that the parent names. It changes no step, and the names come from what the process
// really does.
import { createRequire } from 'node:module';
import { WorkflowClient } from '@temporalio/client';
import { Worker } from '@temporalio/worker';

const { coresdk } = createRequire(import.meta.url)('@temporalio/proto');
const { WorkflowActivation } = coresdk.workflow_activation;
const { WorkflowActivationCompletion } = coresdk.workflow_completion;

/** Workflow id → where it shall stop. */
const planned = new Map();
/** Workflow id → what ends its stop. While it lasts nothing happens for this workflow in this process. */
const stops = new Map();
const counts = new Map();

process.on('message', ({ plan, resume }) => {
  for (const [workflowId, step] of plan ?? []) planned.set(workflowId, step);
  if (resume !== true) return;
  for (const { resolve } of stops.values()) resolve();
  stops.clear();
});
// A process that is to stop does not wait for its parent.
process.channel?.unref();

/** To be called at each step, before the process goes on. @returns what it has to wait for */
function reach(workflowId, name) {
  const count = (counts.get(workflowId + name) ?? 0) + 1;
  counts.set(workflowId + name, count);
  const step = `${name} (${count})`;
  const isPlanned = planned.get(workflowId) === step;
  if (isPlanned) {
    planned.delete(workflowId);
    stops.set(workflowId, deferred());
  }
  process.send?.({ workflowId, step, stopped: isPlanned });
  // The runner hands over the commands of all workflows: it stops only where the plan says so.
  return isPlanned || !name.startsWith('command') ? stops.get(workflowId)?.promise : undefined;
}

function deferred() {
  const made = {};
  made.promise = new Promise((resolve) => {
    made.resolve = resolve;
  });
  return made;
}

/** Polls on while something that was polled waits in `arrive`. */
function pollPast(poll, arrive) {
  const ready = [];
  let wanted;
  const give = (outcome) => {
    const next = wanted;
    wanted = undefined;
    if (next === undefined) ready.push(outcome);
    else next(outcome);
  };
  const run = async () => {
    try {
      for (;;) {
        const buffer = await poll();
        arrive(buffer).then(() => give({ buffer }));
      }
    } catch (error) {
      give({ error });
    }
  };
  let isRunning = false;
  return async () => {
    if (!isRunning) void run();
    isRunning = true;
    const { buffer, error } =
      ready.shift() ??
      (await new Promise((resolve) => {
        wanted = resolve;
      }));
    if (error !== undefined) throw error;
    return buffer;
  };
}

/** Steps around what the worker does for workflows. Between a task and its report nothing leaves the process: no step. */
function watchWorkflows(native) {
  /** Run id → its workflow, the types of its activities, and what its task is about. */
  const runs = new Map();
  const nameOf = (run, job) => {
    const type = job.variant === 'resolveActivity' ? run.activities.get(job.resolveActivity.seq) : undefined;
    return type === undefined ? job.variant : `${type} ended`;
  };
  native.pollWorkflowActivation = pollPast(native.pollWorkflowActivation, async (buffer) => {
    const { runId, jobs, isReplaying } = WorkflowActivation.decode(new Uint8Array(buffer));
    const begun = jobs.find(({ initializeWorkflow }) => initializeWorkflow)?.initializeWorkflow;
    if (begun) runs.set(runId, { workflowId: begun.workflowId, activities: new Map() });
    const run = runs.get(runId);
    if (run === undefined) return;
    const told = jobs.filter(({ variant }) => !['removeFromCache', 'queryWorkflow'].includes(variant));
    run.task = isReplaying || told.length === 0 ? undefined : told.map((job) => nameOf(run, job)).join(', ');
    if (run.task !== undefined) await reach(run.workflowId, `workflow task [${run.task}] taken`);
  });
  const complete = native.completeWorkflowActivation;
  native.completeWorkflowActivation = async (buffer) => {
    const { runId, successful } = WorkflowActivationCompletion.decodeDelimited(new Uint8Array(buffer));
    const run = runs.get(runId);
    for (const { scheduleActivity: scheduled } of successful?.commands ?? [])
      if (scheduled) run?.activities.set(scheduled.seq, scheduled.activityType);
    const task = run?.task;
    if (task === undefined) return complete(buffer);
    await complete(buffer);
    await reach(run.workflowId, `workflow task [${task}] reported`);
  };
}

/** Steps around what the worker does for activities. */
function watchActivities(native) {
  const tasks = new Map();
  const textOf = (token) => Buffer.from(token).toString('base64');
  native.pollActivityTask = pollPast(native.pollActivityTask, async (buffer) => {
    const { taskToken, start } = coresdk.activity_task.ActivityTask.decode(new Uint8Array(buffer));
    if (!start) return;
    const task = { workflowId: start.workflowExecution.workflowId, name: `activity ${start.activityType}` };
    tasks.set(textOf(taskToken), task);
    await reach(task.workflowId, `${task.name} taken`);
  });
  const complete = native.completeActivityTask;
  native.completeActivityTask = async (buffer) => {
    const { taskToken } = coresdk.ActivityTaskCompletion.decodeDelimited(new Uint8Array(buffer));
    const task = tasks.get(textOf(taskToken));
    if (task === undefined) return complete(buffer);
    await reach(task.workflowId, `${task.name} done`);
    await complete(buffer);
    await reach(task.workflowId, `${task.name} reported`);
  };
}

/** Its types hide what makes the native part. */
const opened = /** @type {any} */ (Worker);
const { nativeWorkerCtor } = opened;
opened.nativeWorkerCtor = {
  create: async (...options) => {
    const native = await nativeWorkerCtor.create(...options);
    watchWorkflows(native);
    watchActivities(native);
    return native;
  },
};

const { signalWithStart } = WorkflowClient.prototype;
WorkflowClient.prototype.signalWithStart = async function (type, options) {
  await reach(options.workflowId, 'command taken, not handed over');
  const handle = await signalWithStart.call(this, type, options);
  await reach(options.workflowId, 'command handed over, not removed');
  return handle;
};
