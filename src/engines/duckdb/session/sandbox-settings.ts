import { quoteText, textList } from './sql-text.ts'

/** Limits of a database that runs user SQL. */
export interface SandboxBounds {
  readonly memoryLimitBytes: number
  readonly threads: number
  /** Maximum bytes that it may spill to disk; 0: none. */
  readonly spillBytes: number
}

/** The files that such a database may access. */
export interface SandboxFiles {
  readonly folder: string
  /** Links in the folder whose targets may also be read. */
  readonly links: readonly string[]
}

const MIB = 1_048_576
/** Name of the folder for spilled rows, in the folder of a run. */
export const SPILL_FOLDER = 'spill'

/** Settings of a separate database for user SQL. */
export function sandboxSettings({ memoryLimitBytes, threads }: SandboxBounds): Record<string, string> {
  return {
    threads: String(threads),
    memory_limit: `${Math.max(64, Math.floor(memoryLimitBytes / MIB))}MiB`,
    autoinstall_known_extensions: 'false',
    autoload_known_extensions: 'false',
    allow_community_extensions: 'false',
    allow_unsigned_extensions: 'false',
    allow_persistent_secrets: 'false',
    enable_external_file_cache: 'false',
  }
}

/** Statements that set where and how much it may spill. */
export function spillStatements({ spillBytes }: SandboxBounds, folder: string | undefined): readonly string[] {
  const directory = folder === undefined || spillBytes === 0 ? '' : `${folder}/${SPILL_FOLDER}`
  return [
    `SET temp_directory = ${quoteText(directory)}`,
    ...(directory === '' ? [] : [`SET max_temp_directory_size = '${Math.ceil(spillBytes / MIB)}MiB'`]),
  ]
}

/** Locks the database permanently: from then on it can access only these files, and no setting can be changed. */
export function lockStatements(files: SandboxFiles | undefined): readonly string[] {
  return [
    ...(files === undefined
      ? []
      : [`SET allowed_directories = ${textList([files.folder])}`, `SET allowed_paths = ${textList(files.links)}`]),
    // constants are then evaluated when the query runs, where the memory limit applies, and not during planning
    "SET disabled_optimizers = 'expression_rewriter'",
    'SET enable_external_access = false',
    'SET lock_configuration = true',
  ]
}
