import { join, resolve } from 'node:path'
import { page } from 'embedded:files'
import { runCli } from '../run-cli.ts'
import { embeddedPage } from './page-files.ts'
import { setNativeRoot } from './native-root.ts'

/** The argument with which the executable starts itself as a process for user SQL. */
const WORKER = '--engine-worker'

const args = process.argv.slice(2)
if (args[0] === WORKER) {
  // the service itself compares the hash
  setNativeRoot({ folder: args[1] ?? '', isQuick: true })
  await import('../../engines/duckdb/worker/main.ts')
} else {
  await runCli(args, {
    openBundle(home) {
      const root = join(resolve(home), 'native')
      setNativeRoot({ folder: root, isQuick: false })
      return { staticFiles: embeddedPage(page), workerCommand: { file: process.execPath, args: [WORKER, root] } }
    },
  })
}
