import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { FIRST_NOTEBOOK_CONTENT } from '../../src/notebooks/first-notebook.ts'
import { firstNotebookMap, lakeSecret, notebookSecret, notebookService } from '../../src/notebooks/objects.ts'
import { canHaveNotebook } from '../../src/notebooks/path.ts'
import { notebookPod } from '../../src/notebooks/pod.ts'
import { lakeCoordinates } from '../../src/notebooks/lake-coordinates.ts'
import type { ApiObject } from '../support/kubernetes-api/api-objects.ts'
import { refuseInvalid } from '../support/kubernetes-api/validation.ts'
import { LAKE, specOf } from './support/notebook-spec.ts'
import { runs } from '../support/effort.ts'

const pod = { name: 'notebook-ana', uid: 'uid-1' }

/** The object as the server receives it. */
const asSent = (object: object): ApiObject => structuredClone(object) as ApiObject

describe('a notebook pod', () => {
  it('is confined, and has no permission on the cluster', () => {
    const { spec } = notebookPod(specOf('ana'), 'image:1')
    expect(spec).toMatchObject({
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      restartPolicy: 'OnFailure',
      securityContext: {
        runAsNonRoot: true,
        runAsUser: 1000,
        fsGroup: 100,
        seccompProfile: { type: 'RuntimeDefault' },
      },
    })
    for (const container of [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])]) {
      expect(container.securityContext).toMatchObject({
        allowPrivilegeEscalation: false,
        privileged: false,
        capabilities: { drop: ['ALL'] },
      })
      expect(Object.keys(container.resources?.limits ?? {}).toSorted()).toEqual(['cpu', 'ephemeral-storage', 'memory'])
      // Without a request, the limit becomes the request, and a node has room for a few notebooks only.
      expect(Object.keys(container.resources?.requests ?? {}).toSorted()).toEqual([
        'cpu',
        'ephemeral-storage',
        'memory',
      ])
      expect(container.resources?.requests?.['ephemeral-storage']).toBe('128Mi')
      expect(container.image).toBe('image:1')
    }
    const text = JSON.stringify(spec)
    for (const word of ['hostPath', 'hostNetwork', 'hostPort', 'serviceAccountName']) expect(text).not.toContain(word)
  })

  it('runs in the configured place as the configured user, and stays confined', () => {
    const placement = {
      pullSecrets: ['registry'],
      nodeSelector: { pool: 'notebooks' },
      tolerations: [
        { key: 'dedicated', value: 'notebooks', effect: 'NoSchedule' },
        { key: 'spot', value: undefined, effect: 'NoExecute' },
      ],
      priorityClass: 'low',
      runAs: undefined,
    }
    const made = notebookPod(specOf('ana', { placement }), 'image:1')
    refuseInvalid('pods', asSent(made))
    expect(made.spec).toMatchObject({
      imagePullSecrets: [{ name: 'registry' }],
      nodeSelector: { pool: 'notebooks' },
      tolerations: [
        { key: 'dedicated', operator: 'Equal', value: 'notebooks', effect: 'NoSchedule' },
        { key: 'spot', operator: 'Exists', effect: 'NoExecute' },
      ],
      priorityClassName: 'low',
      securityContext: { runAsNonRoot: true },
    })
    for (const id of ['runAsUser', 'runAsGroup', 'fsGroup']) expect(made.spec?.securityContext).not.toHaveProperty(id)
    const own = { ...placement, runAs: { user: 2000, group: 3000 } }
    const ids = { runAsUser: 2000, runAsGroup: 3000, fsGroup: 3000 }
    expect(notebookPod(specOf('ana', { placement: own }), 'image:1').spec?.securityContext).toMatchObject(ids)
  })

  it('serves under its user’s path, and its probes use that path', () => {
    const { spec } = notebookPod(specOf('ana b@x'), 'image:1')
    const [notebook] = spec?.containers ?? []
    expect(notebook?.args).toContain('--ServerApp.base_url=/notebook/ana%20b%40x/')
    expect(notebook?.startupProbe?.httpGet).toEqual({ path: '/notebook/ana%20b%40x/api', port: 8888 })
    expect(notebook?.readinessProbe?.httpGet?.path).toBe('/notebook/ana%20b%40x/api')
    expect(notebook?.args?.join(' ')).not.toMatch(/token/i)
  })

  it('is valid and allowed by the policy `restricted` for any user', () => {
    const users = fc.oneof(fc.string({ unit: 'binary', minLength: 1, maxLength: 400 }), fc.emailAddress())
    fc.assert(
      fc.property(users, fc.boolean(), fc.boolean(), (user, hasVolume, hasWarehouse) => {
        fc.pre(canHaveNotebook(user))
        const spec = specOf(user, {
          volume: hasVolume ? { size: '1Gi', storageClass: undefined } : undefined,
          warehouseClaim: hasWarehouse ? 'warehouse' : undefined,
        })
        const jupyter = notebookSecret(pod, spec, { jupyterToken: 't', catalogUri: 'u' })
        const objects = [
          ['pods', notebookPod(spec, 'image:1')],
          ['services', notebookService(pod, spec)],
          ['secrets', jupyter],
          ['secrets', lakeSecret(pod, spec, { id: 'i', token: 't', expiresAt: 'e' })],
          ['configmaps', firstNotebookMap(pod, spec, FIRST_NOTEBOOK_CONTENT)],
        ] as const
        for (const [resource, made] of objects) expect(() => refuseInvalid(resource, asSent(made))).not.toThrow()
      }),
      { numRuns: runs(500) },
    )
  })

  it('contains no secret, and its variables are literal', () => {
    const spec = specOf('$(JUPYTER_TOKEN)', {}, { catalogUri: 'postgresql://reader:hush@db/lake' })
    const made = notebookPod(spec, 'image:1')
    expect(JSON.stringify(made)).not.toContain('hush')
    const env = made.spec?.containers[0]?.env ?? []
    expect(env.find(({ name }) => name === 'LAKE_USER')?.value).toBe('$$(JUPYTER_TOKEN)')
    expect(env.find(({ name }) => name === 'LAKE_CATALOG_URI')?.valueFrom?.secretKeyRef?.key).toBe('catalog-uri')
    expect(made.spec?.containers[0]?.args?.join(' ')).not.toContain('$')
  })

  it('mounts the warehouse at the tables’ path, read-only', () => {
    const made = notebookPod(specOf('ana', { warehouseClaim: 'lake' }, { warehouse: 'file:///data/warehouse/' }), 'i')
    expect(made.spec?.volumes).toContainEqual({
      name: 'warehouse',
      persistentVolumeClaim: { claimName: 'lake', readOnly: true },
    })
    expect(made.spec?.containers[0]?.volumeMounts).toContainEqual({
      name: 'warehouse',
      mountPath: '/data/warehouse',
      readOnly: true,
    })
    for (const warehouse of ['s3://bucket/lake', '']) {
      const without = notebookPod(specOf('ana', { warehouseClaim: 'lake' }, { warehouse }), 'i')
      expect(JSON.stringify(without)).not.toContain('"warehouse"')
    }
  })

  it('has no token when pods cannot reach the service', () => {
    const text = JSON.stringify(notebookPod(specOf('ana', {}, { apiUrl: undefined }), 'i'))
    expect(text).not.toContain('LAKE_TOKEN_FILE')
    expect(text).not.toContain('-lake')
  })
})

describe('the catalog settings of a notebook', () => {
  const view = { apiUrl: LAKE.apiUrl, catalogUri: undefined }
  const catalog = { type: 'sql', name: 'lockhouse', warehouse: 'file:///w', uri: 'sqlite:////data/catalog.db' }

  it.each([
    ['omit a SQLite file, which is on another machine', catalog, undefined],
    [
      'omit a SQL server, whose address contains a password',
      { ...catalog, uri: 'postgresql://u:p@db/lake' },
      undefined,
    ],
    ['contain the address of a REST catalog', { ...catalog, type: 'rest', uri: 'https://catalog' }, 'https://catalog'],
    ['contain no address for a folder', { ...catalog, type: 'hadoop', uri: undefined }, undefined],
  ])('%s', (_, configured, expected) => {
    expect(lakeCoordinates(configured, view).catalogUri).toBe(expected)
  })

  it('prefer the operator’s configuration', () => {
    const said = { ...view, catalogUri: 'postgresql://reader@db/lake' }
    expect(lakeCoordinates(catalog, said).catalogUri).toBe('postgresql://reader@db/lake')
  })
})
