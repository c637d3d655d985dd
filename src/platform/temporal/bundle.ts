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
    // Lines only: the columns of the SDK's own entry file depend on the length of this folder's name.
    webpackConfigHook: (config) => ({ ...config, devtool: 'inline-cheap-module-source-map' }),
  });
  return { code: nameSources(code) };
}

/**
 * Takes the random name of the bundle and this folder out of the source map, so that two builds of the same sources are
 * equal.
 */
function nameSources(code: string): string {
  const mark = '//# sourceMappingURL=data:application/json;charset=utf-8;base64,';
  const at = code.lastIndexOf(mark) + mark.length;
  if (at < mark.length) throw new Error('The bundle of the workflows has no source map.');
  const text = Buffer.from(code.slice(at).trimEnd(), 'base64').toString();
  const map: object = JSON.parse(text.replaceAll(`${process.cwd()}/`, ''));
  const named = JSON.stringify({ ...map, file: 'workflow-bundle.js' });
  return `${code.slice(0, at)}${Buffer.from(named).toString('base64')}`;
}

/** Writes the bundle to a file, from which `createDeliveryWorker` reads it. */
export async function writeWorkflowBundle(file: string, workflowsPath?: string): Promise<void> {
  const { code } = await bundleWorkflows(workflowsPath);
  await writeFile(file, code);
}
