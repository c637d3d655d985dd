// Bundles the workflows for Temporal's sandbox, at build time and once for the tests, so that a worker starts without
// webpack.
import { writeFile } from 'node:fs/promises';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { INTERCEPTOR_PATHS, WORKFLOWS_PATH } from './worker.ts';

/**
 * @param workflowsPath absolute path of the workflows' entry file
 * @returns the code of the bundle; stateless modules are loaded once instead of once for each workflow
 */
export async function bundleWorkflows(workflowsPath: string = WORKFLOWS_PATH): Promise<{ code: string }> {
  const { code } = await bundleWorkflowCode({
    workflowsPath,
    workflowInterceptorModules: INTERCEPTOR_PATHS,
    preloadModules: ['@temporalio/common', '@temporalio/workflow', ...INTERCEPTOR_PATHS, workflowsPath],
    logger: new DefaultLogger('WARN'),
  });
  return { code };
}

/** Writes the bundle to a file, from which `createDeliveryWorker` reads it. */
export async function writeWorkflowBundle(file: string, workflowsPath?: string): Promise<void> {
  const { code } = await bundleWorkflows(workflowsPath);
  await writeFile(file, code);
}
