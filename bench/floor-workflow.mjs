// The workflow of the floor: one local activity.
import { proxyLocalActivities } from '@temporalio/workflow';

const { post } = proxyLocalActivities({ startToCloseTimeout: '20s' });

export async function deliverOnce(id) {
  await post(id);
}
