import { mapBounded } from '../../../lib/bounded-map.ts'
import type { DeletionFailure } from '../file-io.ts'
import type { BatchDeletion, ObjectStore, StoredObject } from './object-store.ts'
import { repeated } from './repeat-request.ts'

const CONCURRENT_DELETES = 16

interface LocatedObject extends StoredObject {
  readonly location: string
}

/**
 * Deletes objects, in few requests if the store has batches, and returns those that stay. Objects that a batch does not confirm
 * are deleted with `deleteOne`, because some stores of a kind do not support batches.
 */
export async function deleteObjects(
  store: ObjectStore,
  objects: readonly LocatedObject[],
  deleteOne: (location: string) => Promise<void>,
): Promise<readonly DeletionFailure[]> {
  const failures: DeletionFailure[] = []
  const deleteEach = (locations: readonly string[]): Promise<unknown> =>
    mapBounded(locations, CONCURRENT_DELETES, async (location) => {
      try {
        await deleteOne(location)
      } catch (error) {
        failures.push({ location, reason: error instanceof Error ? error.message : String(error) })
      }
    })
  const { batch } = store
  if (batch === undefined) await deleteEach(objects.map(({ location }) => location))
  else for (const some of batches(objects, batch.most)) await deleteEach(await deleteBatch(store, batch, some))
  return failures
}

/** Objects of one bucket each, as many as one request may name. */
function batches(objects: readonly LocatedObject[], most: number): readonly (readonly LocatedObject[])[] {
  return [...Map.groupBy(objects, ({ bucket }) => bucket).values()].flatMap((same) =>
    Array.from({ length: Math.ceil(same.length / most) }, (_, at) => same.slice(at * most, (at + 1) * most)),
  )
}

/** The locations that the store does not confirm to be gone. */
async function deleteBatch(
  store: ObjectStore,
  batch: BatchDeletion,
  objects: readonly LocatedObject[],
): Promise<readonly string[]> {
  const byKey = new Map(objects.map(({ key, location }) => [key, location]))
  const [{ bucket, location } = { bucket: '', location: '' }] = objects
  try {
    const gone = new Set(
      await repeated(store, { action: 'delete', location }, () => batch.delete(bucket, [...byKey.keys()])),
    )
    return [...byKey].flatMap(([key, same]) => (gone.has(key) ? [] : [same]))
  } catch {
    return [...byKey.values()]
  }
}
