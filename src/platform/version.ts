// The release: what `--version` prints and what metrics carry. A test holds it to package.json.

export const VERSION = '0.1.0';
