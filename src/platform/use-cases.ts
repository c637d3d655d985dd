// A service is a table of use cases, each a function whose first parameter is what the service needs.

type UseCase<Needs> = (needs: Needs, ...rest: never[]) => unknown;

/** The use cases of a service as its users call them: without `needs`. */
type Bound<Uses> = {
  [Name in keyof Uses]: Uses[Name] extends (needs: never, ...rest: infer Rest) => infer Result
    ? (...rest: Rest) => Result
    : never;
};

/**
 * Gives each use case what the service needs.
 * @returns an object with the same names, whose functions take the other parameters
 */
export function bindUseCases<Needs, Uses extends Record<string, UseCase<Needs>>>(
  needs: Needs,
  uses: Uses,
): Bound<Uses> {
  const bound = Object.entries(uses).map(([name, use]) => [name, use.bind(undefined, needs)]);
  return Object.fromEntries(bound) as Bound<Uses>;
}
