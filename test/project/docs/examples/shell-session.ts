import { spawn } from 'node:child_process'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'

/** A command of a shell, and where its example stands. */
export interface Step {
  readonly line: number
  readonly command: string
}

export interface RanStep extends Step {
  readonly status: number
  readonly output: string
}

export interface ShellOptions {
  readonly folder: string
  readonly env: Readonly<Record<string, string>>
  /** Commands by the names that examples call. */
  readonly programs: Readonly<Record<string, readonly string[]>>
}

/**
 * Calls a program. An id that an example cuts off, such as `plan-…`, stands for the last id of its kind that an earlier
 * command printed.
 */
const WITH_IDS = `#!/usr/bin/env bash
args=()
for arg in "$@"; do
  while [[ $arg =~ ([a-z]+)-[0-9a-z]*… ]]; do
    id=$(grep -oE "\\b\${BASH_REMATCH[1]}-[0-9a-z]{26}" "$PRINTED" | tail -n 1)
    arg=\${arg/"\${BASH_REMATCH[0]}"/\${id:-no-earlier-id}}
  done
  args+=("$arg")
done
"\${args[@]}" | tee -a "$PRINTED"
exit "\${PIPESTATUS[0]}"
`
const END = '\u001e'

/** Runs all steps in one shell, so that variables stay, and answers the status and the output of each. */
export async function runSession(steps: readonly Step[], { folder, env, programs }: ShellOptions) {
  const bin = join(folder, 'bin')
  mkdirSync(bin, { recursive: true })
  const program = (name: string, content: string): void => {
    writeFileSync(join(bin, name), content)
    chmodSync(join(bin, name), 0o755)
  }
  program('with-ids', WITH_IDS)
  for (const [name, command] of Object.entries(programs)) {
    program(name, `#!/usr/bin/env bash\nexec with-ids ${command.map(quoted).join(' ')} "$@"\n`)
  }
  const printed = join(folder, 'printed')
  writeFileSync(printed, '')
  const script = steps.map(({ command }) => `eval ${quoted(command)}\nprintf '${END}%s${END}' "$?"\n`).join('')
  const child = spawn('bash', ['-c', `exec 2>&1\nset -o pipefail\n${script}`], {
    cwd: folder,
    env: { ...env, PRINTED: printed, PATH: `${bin}:${process.env['PATH'] ?? ''}` },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const parts = (await text(child.stdout)).split(END)
  return steps.map((step, at): RanStep => ({
    ...step,
    output: (parts[at * 2] ?? '').trim(),
    status: Number(parts[at * 2 + 1] ?? 255),
  }))
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}
