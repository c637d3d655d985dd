// The floor of the deliveries that each have a workflow: the two statements of the other floor, with a workflow of
// Temporal's SDK between them that starts eagerly and posts in a local activity. No attributes, summaries or retries.
import { fileURLToPath } from 'node:url';
import { Client } from '@temporalio/client';
import { DefaultLogger, NativeConnection, Runtime, Worker } from '@temporalio/worker';
import { openDeliveryFloor } from './delivery-floor.mjs';

const [url, receiverPort, address] = process.argv.slice(2);
const namespace = 'countersign';
const taskQueue = 'floor';

Runtime.install({ logger: new DefaultLogger('WARN') });
const connection = await NativeConnection.connect({ address });
const bodies = new Map();
const floor = await openDeliveryFloor({
  url,
  receiverPort,
  deliver: async (id, body) => {
    bodies.set(id, body);
    const start = { args: [id], taskQueue, workflowId: id, requestEagerStart: true };
    await client.workflow.start('deliverOnce', start);
  },
});
const worker = await Worker.create({
  ...{ connection, namespace, taskQueue },
  workflowsPath: fileURLToPath(new URL('./floor-workflow.mjs', import.meta.url)),
  activities: {
    post: async (id) => {
      const body = bodies.get(id);
      bodies.delete(id);
      await floor.post(id, body);
    },
  },
});
const client = new Client({ connection, namespace });
void worker.run();
floor.listen();
