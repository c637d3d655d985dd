// Opens the services of one command, and closes them, so that the process can exit.

/** @returns what `work` returns, when the services are closed again; they close also after an error */
export async function useServices<Services extends { close: () => Promise<void> }, Result>(
  open: () => Promise<Services>,
  work: (services: Services) => Promise<Result>,
): Promise<Result> {
  const services = await open();
  try {
    return await work(services);
  } finally {
    await services.close();
  }
}
