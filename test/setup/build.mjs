// Builds `dist` and the packages, when their sources changed: the tests of processes start them.
import { prepare } from '../../scripts/prepare.mjs';

export default () => prepare({ build: true });
