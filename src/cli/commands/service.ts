import { callCommand } from '../api/api-command.ts'
import type { Command } from '../command.ts'

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
  'notebook status': callCommand('getNotebookStatus', { examples: ['lockhouse notebook status'] }),
  'notebook start': callCommand('startNotebook', { examples: ['lockhouse notebook start'] }),
  'notebook stop': callCommand('stopNotebook', {
    done: 'your notebook is stopped',
    examples: ['lockhouse notebook stop'],
  }),
}
