// Lets the Temporal SDK download the release of the first argument into the folder of the second, and starts its
// server once to see it run. The supervisor can end this process, and does not load the SDK's native part.
import { TestWorkflowEnvironment } from '@temporalio/testing';

const [version, downloadDir] = process.argv.slice(2);
if (version === undefined || downloadDir === undefined) throw new Error('say a release and a folder');
const executable = { type: /** @type {const} */ ('cached-download'), version, downloadDir };
const environment = await TestWorkflowEnvironment.createLocal({ server: { ui: false, executable } });
await environment.teardown();
