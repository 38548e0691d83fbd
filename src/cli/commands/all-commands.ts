import type { Command } from '../command.ts'
import { agentCommands } from './agent.ts'
import { alertCommands } from './alerts.ts'
import { approvalCommands } from './approvals.ts'
import { backup, restore } from './backup.ts'
import { definitionCommands } from './definitions.ts'
import { deploymentCommands } from './deployments.ts'
import { doctor } from './doctor.ts'
import { fileCommands } from './files.ts'
import { grantCommands } from './identity/grants.ts'
import { login, logout } from './identity/login.ts'
import { logCommands } from './logs.ts'
import { operationCommands } from './operate.ts'
import { ledgerCommands } from './operations.ts'
import { pipelineCommands } from './pipelines.ts'
import { policyCommands } from './policies.ts'
import { queryCommands } from './query.ts'
import { quarantineCommands } from './quarantine.ts'
import { serviceCommands } from './service.ts'
import { status } from './status.ts'
import { tableCommands } from './tables/tables.ts'
import { tokenCommands } from './identity/tokens.ts'

/** All commands but `serve`, by name; a name of two words is a command of a group. */
export const COMMANDS: Readonly<Record<string, Command>> = {
  status,
  ...tableCommands,
  ...queryCommands,
  ...operationCommands,
  ...ledgerCommands,
  ...quarantineCommands,
  ...policyCommands,
  ...pipelineCommands,
  ...definitionCommands,
  ...deploymentCommands,
  ...approvalCommands,
  ...alertCommands,
  ...fileCommands,
  ...logCommands,
  ...agentCommands,
  ...serviceCommands,
  ...tokenCommands,
  ...grantCommands,
  login,
  logout,
  backup,
  restore,
  doctor,
}

/** A first word with the commands that begin with it. */
export interface CommandGroup {
  readonly name: string
  /** The command of this word alone; undefined when a second word is needed. */
  readonly own: Command | undefined
  /** Second words. */
  readonly others: readonly string[]
}

/** First words of all commands, in the order of the list. */
export function commandGroups(): readonly CommandGroup[] {
  const names = Object.keys(COMMANDS)
  const firsts = [...new Set(names.map((name) => name.split(' ', 1)[0] ?? name))]
  return firsts.map((name) => ({
    name,
    own: Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined,
    others: names.filter((one) => one.startsWith(`${name} `)).map((one) => one.slice(name.length + 1)),
  }))
}
