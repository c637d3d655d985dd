// Lets the Temporal SDK download its own development server into the folder of the first argument, and starts it once
// to see it run. A process of its own: it can be given up on, and the SDK's native part stays out of the supervisor.
import { TestWorkflowEnvironment } from '@temporalio/testing';

const downloadDir = process.argv[2];
const environment = await TestWorkflowEnvironment.createLocal({
  server: { ui: false, executable: { type: 'cached-download', ...(downloadDir && { downloadDir }) } },
});
await environment.teardown();
