// The release, for `--version` and metrics. A test compares it with package.json.

export const VERSION = '0.1.0';
