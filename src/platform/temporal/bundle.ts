// Bundles the workflows for the sandbox, at build time and once for the tests. A prebuilt bundle keeps webpack out of a
// worker's start.
import { writeFile } from 'node:fs/promises';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { INTERCEPTOR_PATHS, WORKFLOWS_PATH } from './worker.ts';

/**
 * @param workflowsPath absolute path of the workflows' entry file
 * @returns the code of the bundle; modules without state are loaded once, not once for each workflow
 */
export async function bundleWorkflows(workflowsPath: string = WORKFLOWS_PATH): Promise<{ code: string }> {
  const { code } = await bundleWorkflowCode({
    workflowsPath,
    workflowInterceptorModules: INTERCEPTOR_PATHS,
    preloadModules: ['@temporalio/common', '@temporalio/workflow', workflowsPath],
    logger: new DefaultLogger('WARN'),
  });
  return { code };
}

/** Writes the bundle to a file, where `createDeliveryWorker` finds it. */
export async function writeWorkflowBundle(file: string, workflowsPath?: string): Promise<void> {
  const { code } = await bundleWorkflows(workflowsPath);
  await writeFile(file, code);
}
