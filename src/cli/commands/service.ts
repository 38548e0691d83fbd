import { type CallSpec, callCommand, listCommand } from '../api/api-command.ts'
import type { Command } from '../command.ts'

const TEST_TABLES = { checks: ['check', 'outcome', 'detail', 'hint', 'duration_ms'] } as const

/** A test that found a failure ends with 1, so that a script can stop. */
const testFailed: CallSpec<'testCatalog'>['fails'] = ({ outcome }) =>
  outcome === 'ok' ? undefined : 'a check of the catalog failed'

/** Commands for the caller, the catalog and notebooks. */
export const serviceCommands: Readonly<Record<string, Command>> = {
  whoami: callCommand('whoAmI', { examples: ['lockhouse whoami'] }),
  config: callCommand('getCatalogConfig', { examples: ['lockhouse config'] }),
  'config set': callCommand('setCatalogConfig', {
    summary: 'switch to the catalog of a file with its JSON; it is opened before it replaces the current one',
    file: 'required',
    confirm: 'Switch the service to the catalog of {}?',
    inside: 'config',
    examples: ['lockhouse config set lake.json --yes'],
  }),
  'config test': callCommand('testCatalogConfig', {
    summary: 'test the connection of the catalog of a file with its JSON, which is not stored',
    file: 'required',
    tables: TEST_TABLES,
    fails: testFailed,
    examples: ['lockhouse config test lake.json'],
  }),
  catalogs: listCommand('listCatalogs', {
    columns: [
      'name',
      'is_default',
      'is_open',
      ['TYPE', 'settings.catalog_type'],
      ['WAREHOUSE', 'settings.warehouse'],
      ['URI', 'settings.uri'],
    ],
    none: 'no catalog is configured',
    examples: ['lockhouse catalogs'],
  }),
  'catalogs show': callCommand('getCatalog', { inside: 'catalog', examples: ['lockhouse catalogs show lake'] }),
  'catalogs add': callCommand('addCatalog', {
    summary: 'add the catalog of a file with its JSON beside the default one',
    file: 'required',
    inside: 'catalog',
    examples: ['lockhouse catalogs add lake.json'],
  }),
  'catalogs set': callCommand('changeCatalog', {
    summary: 'change a catalog beside the default one to that of a file with its JSON',
    file: 'required',
    inside: 'catalog',
    examples: ['lockhouse catalogs set lake lake.json'],
  }),
  'catalogs remove': callCommand('removeCatalog', {
    confirm: 'Remove the catalog {}? Its tables stay as they are.',
    inside: 'catalog',
    examples: ['lockhouse catalogs remove lake --yes'],
  }),
  'catalogs test': callCommand('testCatalog', {
    tables: TEST_TABLES,
    fails: testFailed,
    examples: ['lockhouse catalogs test lockhouse', 'lockhouse catalogs test lake --commit true'],
  }),
  'notebook status': callCommand('getNotebookStatus', { examples: ['lockhouse notebook status'] }),
  'notebook start': callCommand('startNotebook', { examples: ['lockhouse notebook start'] }),
  'notebook stop': callCommand('stopNotebook', {
    done: 'your notebook is stopped',
    examples: ['lockhouse notebook stop'],
  }),
}
