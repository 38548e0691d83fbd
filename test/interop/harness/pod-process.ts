import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ApiObject } from '../../support/kubernetes-api/api-objects.ts'
import type { ObjectStore } from '../../support/kubernetes-api/object-store.ts'
import { freePort } from '../../support/network/free-port.ts'
import { until } from '../../support/waiting.ts'

/** A pod's container as a process on this machine, for tests without a cluster. */
export interface PodProcess {
  readonly url: string
  /** The folder of the user's files. */
  readonly work: string
  /** The environment that the pod gives it. */
  readonly env: Readonly<Record<string, string>>
  stop(): Promise<void>
}

/**
 * Runs what a notebook's pod describes: its init container's command, then its server with the pod's own arguments
 * and variables. Only the address, the folders and the program itself are local.
 */
export async function runPod(python: string, pod: ApiObject, store: ObjectStore): Promise<PodProcess> {
  const home = await mkdtemp(join(tmpdir(), 'lockhouse-pod-'))
  const port = await freePort()
  const folders: readonly (readonly [string, string])[] = [
    ['/home/jovyan/work', join(home, 'work')],
    ['/opt/lockhouse', join(home, 'opt')],
    ['/var/run/lockhouse', join(home, 'run')],
  ]
  for (const [, folder] of folders) await mkdir(folder)
  const here = (text: string): string => folders.reduce((moved, [from, to]) => moved.replaceAll(from, to), text)
  const { initContainers, containers, volumes } = pod['spec']
  await mount(pod, store, volumes, { configMap: join(home, 'opt'), secret: join(home, 'run') })
  const [program, ...words]: string[] = initContainers[0].command
  const prepared = spawnSync(program ?? '', words.map(here))
  if (prepared.status !== 0) throw new Error(`the init container failed: ${prepared.stderr.toString()}`)
  const [, ...given]: string[] = containers[0].args
  const moved = given.map(here).map((word) => word.replace(/^(--ServerApp\.port)=.*/, `$1=${port}`))
  const serverArguments = moved.map((word) => word.replace('0.0.0.0', '127.0.0.1'))
  const env = environmentOf(pod, store, here)
  const child = spawn(python, ['-m', 'jupyterlab', '--no-browser', '--allow-root', ...serverArguments], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { PATH: process.env['PATH'], HOME: home, LANG: 'C.UTF-8', ...env },
  })
  const url = `http://127.0.0.1:${port}`
  await untilProbed(child, `${url}${containers[0].startupProbe.httpGet.path}`)
  return {
    url,
    work: join(home, 'work'),
    env,
    async stop() {
      if (child.exitCode === null && child.signalCode === null) {
        const exited = once(child, 'exit')
        child.kill('SIGKILL')
        await exited
      }
      await rm(home, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

interface Mounts {
  readonly configMap: string
  readonly secret: string
}

async function mount(pod: ApiObject, store: ObjectStore, volumes: ApiObject[], at: Mounts): Promise<void> {
  const { namespace } = pod.metadata
  for (const { configMap, secret } of volumes) {
    const map = configMap && store.get('configmaps', namespace, configMap.name)
    for (const [key, text] of Object.entries(map?.['data'] ?? {}))
      await writeFile(join(at.configMap, key), String(text))
    const held = secret && store.get('secrets', namespace, secret.secretName)
    for (const { key, path } of secret?.items ?? []) {
      await writeFile(join(at.secret, path), Buffer.from(held?.['data'][key], 'base64'))
    }
  }
}

function environmentOf(pod: ApiObject, store: ObjectStore, here: (text: string) => string): Record<string, string> {
  const variables: { name: string; value?: string; valueFrom?: { secretKeyRef: { name: string; key: string } } }[] =
    pod['spec'].containers[0].env
  return Object.fromEntries(
    variables.map(({ name, value, valueFrom }) => {
      if (value !== undefined) return [name, here(value.replaceAll('$$', '$'))]
      const { name: secret = '', key = '' } = valueFrom?.secretKeyRef ?? {}
      const held = store.get('secrets', pod.metadata.namespace, secret)?.['data'][key]
      return [name, Buffer.from(held ?? '', 'base64').toString()]
    }),
  )
}

/** Probes like the kubelet with a startup probe. */
async function untilProbed(child: ChildProcess, url: string): Promise<void> {
  let log = ''
  child.stderr?.on('data', (bytes: Buffer) => (log = (log + bytes.toString()).slice(-4000)))
  const isReady = async (): Promise<boolean> => {
    if (child.exitCode !== null) throw new Error(`the notebook ended at its start:\n${log}`)
    const answer = await fetch(url).catch(() => undefined)
    return answer?.status === 200
  }
  await until(isReady, () => `an answer of the notebook at ${url}:\n${log}`, 60_000)
}
