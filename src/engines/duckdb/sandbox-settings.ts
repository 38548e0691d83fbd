import { quoteText, textList } from './sql-text.ts'

/** Bounds of a database that runs SQL of users. */
export interface SandboxBounds {
  readonly memoryLimitBytes: number
  readonly threads: number
  /** What it may spill to disk; 0: nothing. */
  readonly spillBytes: number
}

/** The files that such a database may touch. */
export interface SandboxFiles {
  readonly folder: string
  /** Links in the folder whose targets may be read too. */
  readonly links: readonly string[]
}

const MIB = 1_048_576

/** Settings with which a database of its own is opened for SQL of users. */
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

/** Says where it may spill, and how much. */
export function spillStatements({ spillBytes }: SandboxBounds, folder: string | undefined): readonly string[] {
  const directory = folder === undefined || spillBytes === 0 ? '' : `${folder}/spill`
  return [
    `SET temp_directory = ${quoteText(directory)}`,
    ...(directory === '' ? [] : [`SET max_temp_directory_size = '${Math.ceil(spillBytes / MIB)}MiB'`]),
  ]
}

/** Shuts it in for good: from then on it reaches its own memory and these files, and no setting can be changed. */
export function lockStatements(files: SandboxFiles | undefined): readonly string[] {
  return [
    ...(files === undefined
      ? []
      : [`SET allowed_directories = ${textList([files.folder])}`, `SET allowed_paths = ${textList(files.links)}`]),
    // constants are then computed when the query runs, where the memory limit holds, and not while it is planned
    "SET disabled_optimizers = 'expression_rewriter'",
    'SET enable_external_access = false',
    'SET lock_configuration = true',
  ]
}
