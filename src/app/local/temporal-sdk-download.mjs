// Lets the Temporal SDK download the release of the first argument into the folder of the second, and starts its
// server once to see it run. A process of its own: it can be given up on, and the SDK's native part stays out of the
// supervisor.
import { TestWorkflowEnvironment } from '@temporalio/testing';

const [version, downloadDir] = process.argv.slice(2);
const executable = {
  type: /** @type {const} */ ('cached-download'),
  ...(version && { version }),
  ...(downloadDir && { downloadDir }),
};
const environment = await TestWorkflowEnvironment.createLocal({ server: { ui: false, executable } });
await environment.teardown();
