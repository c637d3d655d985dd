// A service is a class. Its functions are fields with arrow functions, so none can lose the service that it belongs to.
// docs/decisions/0053-services-are-classes.md

/**
 * Keeps what a service needs. Its functions are fields with their documentation, which editors show at each call:
 * `create = async (context: RequestContext, …) => …`. What it keeps is a `#private` field.
 */
export abstract class Service<Needs> {
  protected readonly needs: Needs;

  constructor(needs: Needs) {
    this.needs = needs;
  }
}
