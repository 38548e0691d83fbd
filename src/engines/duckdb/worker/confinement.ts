import { existsSync } from 'node:fs'

import type { WorkerCommand } from './worker-command.ts'

const SHELL = '/bin/sh'

/**
 * What a shell does before it becomes the worker; `$0` are arguments of `ulimit`, `$1` are options of `unshare`, and the rest
 * is the command. Each step is left out where the system lacks or refuses it; together they take about 10 ms.
 *
 * 1. The kernel kills the worker first when memory runs out, limits its data, and writes no core dump.
 * 2. The worker gets a low priority, but not so low that it starts slowly: the worker lowers its priority further.
 * 3. No program that the worker starts gets more rights than the worker (`no_new_privs`).
 * 4. The worker gets a network of its own, without a way to any other.
 */
const SCRIPT = `{ echo 1000 > /proc/self/oom_score_adj; ulimit -c 0; ulimit $0; } 2> /dev/null
works() { "$@" true; } > /dev/null 2>&1
apart=$1
shift
if works nice -n 5; then set -- nice -n 5 "$@"; fi
if works setpriv --no-new-privs; then set -- setpriv --no-new-privs "$@"; fi
if works unshare $apart; then set -- unshare $apart "$@"; fi
exec "$@"`

/** The command in a shell that confines it first; unchanged where there is no shell. `limit`: arguments of `ulimit`. */
export function confined({ file, args }: WorkerCommand, limit: string): WorkerCommand {
  return existsSync(SHELL)
    ? { file: SHELL, args: ['-c', SCRIPT, limit, networkOptions(), file, ...args] }
    : { file, args }
}

/**
 * Users need a user namespace for a network of their own; it maps the user and its groups to themselves, so that the same files
 * can be read. Root needs none, and would lose the right to read files of others in one.
 */
function networkOptions(): string {
  return process.getuid?.() === 0 ? '--net' : '--user --map-current-user --net'
}
