import { ConfigError } from '../config/config-error.ts'
import { errnoCode } from '../iceberg/io/io-error.ts'
import { DatabaseError } from '../storage/database-error.ts'

const NO_SPACE = 'no space is left for LOCKHOUSE_HOME: free some and start again'
const NOT_WRITABLE = 'LOCKHOUSE_HOME cannot be written: check that its disk is not read-only, and who owns it'

/** One line on why the service cannot start; undefined for an error that the operator cannot fix. */
export function startProblem(error: unknown): string | undefined {
  return (
    diskProblem(error) ?? (error instanceof ConfigError || error instanceof DatabaseError ? error.message : undefined)
  )
}

/** The same for a full or read-only disk, which may be the cause of the error. */
function diskProblem(error: unknown): string | undefined {
  const code = error instanceof DatabaseError ? error.code : errnoCode(error)
  if (code === 'ENOSPC' || code === 'EDQUOT' || code === 'FULL') return NO_SPACE
  if (code === 'EROFS' || code === 'READ_ONLY') return NOT_WRITABLE
  return error instanceof Error && error.cause !== undefined ? diskProblem(error.cause) : undefined
}
