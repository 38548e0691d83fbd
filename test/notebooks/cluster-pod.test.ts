import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readPod } from '../../src/notebooks/cluster-pod.ts'
import { notebookState } from '../../src/notebooks/pod-status.ts'
import { runs } from '../support/effort.ts'

describe('a pod from the Kubernetes API', () => {
  it('can be read whatever its fields contain, and has a state', () => {
    const hostile = fc.object({
      key: fc.constantFrom(
        'metadata',
        'status',
        'name',
        'uid',
        'labels',
        'phase',
        'conditions',
        'containerStatuses',
        'state',
        'waiting',
        'reason',
        'message',
        'type',
        'deletionTimestamp',
        'lastState',
        'terminated',
        'started',
      ),
      maxDepth: 5,
      values: [
        fc.string(),
        fc.constantFrom('Running', 'notebook', 'Failed'),
        fc.boolean(),
        fc.constant(null),
        fc.double(),
      ],
    })
    fc.assert(
      fc.property(hostile, (json) => {
        const pod = readPod({ ...json, metadata: { ...(json['metadata'] as object), name: 'n', uid: 'u' } })
        if (!pod) throw new Error('it has a name')
        expect(['not_found', 'pending', 'running', 'failed']).toContain(notebookState(pod, [], Date.now()).phase)
        expect(readPod(json) === undefined || typeof readPod(json)?.name === 'string').toBe(true)
      }),
      { numRuns: runs(2000) },
    )
  })

  it.each([undefined, null, 1, 'x', [], {}, { metadata: null }, { metadata: { name: 1, uid: 'u' } }])(
    '%j is not a pod',
    (json) => expect(readPod(json)).toBeUndefined(),
  )
})
