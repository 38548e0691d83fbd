import { mapBounded } from '../../../lib/bounded-map.ts'
import type { DeletionFailure } from '../file-io.ts'
import type { ObjectStore, StoredObject } from './object-store.ts'
import { repeated } from './repeat-request.ts'

const CONCURRENT_DELETES = 8

interface LocatedObject extends StoredObject {
  readonly location: string
}

/**
 * Deletes objects in few requests and returns those that stay. What the store does not confirm is deleted with `deleteOne`:
 * some stores do not support a request for many objects.
 */
export async function deleteObjects(
  store: ObjectStore,
  objects: readonly LocatedObject[],
  deleteOne: (location: string) => Promise<void>,
): Promise<readonly DeletionFailure[]> {
  const failures: DeletionFailure[] = []
  for (const batch of batches(objects, store.maxDeleted)) {
    await mapBounded(await deleteBatch(store, batch), CONCURRENT_DELETES, async (location) => {
      try {
        await deleteOne(location)
      } catch (error) {
        failures.push({ location, reason: error instanceof Error ? error.message : String(error) })
      }
    })
  }
  return failures
}

/** Objects of one bucket each, as many as one request may name. */
function batches(objects: readonly LocatedObject[], most: number): readonly (readonly LocatedObject[])[] {
  return [...Map.groupBy(objects, ({ bucket }) => bucket).values()].flatMap((same) =>
    Array.from({ length: Math.ceil(same.length / most) }, (_, at) => same.slice(at * most, (at + 1) * most)),
  )
}

/** The locations that the store does not confirm to be gone. */
async function deleteBatch(store: ObjectStore, batch: readonly LocatedObject[]): Promise<readonly string[]> {
  const byKey = new Map(batch.map(({ key, location }) => [key, location]))
  const [{ bucket, location } = { bucket: '', location: '' }] = batch
  try {
    const gone = new Set(
      await repeated(store, { action: 'delete', location }, () => store.deleteMany(bucket, [...byKey.keys()])),
    )
    return [...byKey].flatMap(([key, same]) => (gone.has(key) ? [] : [same]))
  } catch {
    return [...byKey.values()]
  }
}
