import type { Command } from '../command.ts'
import { backup, restore } from './backup.ts'
import { doctor } from './doctor.ts'
import { approvals, definitions, operations, pipelines } from './lists.ts'
import { operationCommands } from './operate.ts'
import { status } from './status.ts'
import { health, tables } from './tables.ts'
import { token } from './tokens.ts'

/** All commands but `serve`, by name. */
export const COMMANDS: Readonly<Record<string, Command>> = {
  status,
  tables,
  health,
  ...operationCommands,
  operations,
  pipelines,
  definitions,
  approvals,
  token,
  backup,
  restore,
  doctor,
}
