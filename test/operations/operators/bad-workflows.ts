// A version of the workflows with a fault of its own: whatever an endpoint's workflow has done before, this one cannot
// go on from it.

/** Fails each of its tasks: an error that is no failure of Temporal's is taken for a fault of the code. */
export async function endpointRecovery(): Promise<void> {
  throw new Error('a version with a fault');
}
