// Sequelize, loaded when a model is used for the first time: a command that only has statements does not wait for it.
import { createRequire } from 'node:module';
import type * as Sequelize from 'sequelize';

const require = createRequire(import.meta.url);

let loaded: typeof Sequelize | undefined;

/** Loads Sequelize, once. */
export function loadSequelize(): typeof Sequelize {
  loaded ??= require('sequelize') as typeof Sequelize;
  return loaded;
}
