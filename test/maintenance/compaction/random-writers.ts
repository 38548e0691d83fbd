import type { Workshop } from '../real-lake.ts'
import { ModelLake, type Random } from './model-lake.ts'

/** A table of a random version with random files, partitions and deletes. */
export async function createRandomLake(
  shop: Workshop,
  random: Random,
  formatVersion: 2 | 3 = random(2) === 0 ? 2 : 3,
): Promise<ModelLake> {
  const lake = await ModelLake.create(shop, { formatVersion })
  const partitionAt = random(8)
  for (let n = 0; n < 3 + random(3); n += 1) {
    if (n === partitionAt) await lake.partition()
    await lake.append(random, 1 + random(8))
    if (random(3) === 0) await lake.delete(random, 2)
    if (random(4) === 0) await lake.upsert(random)
  }
  return lake
}

/** One commit of a random writer. */
export async function writeRandomly(lake: ModelLake, random: Random): Promise<void> {
  switch (random(14)) {
    case 0:
      return lake.append(random, 2)
    case 1:
      return lake.upsert(random)
    case 2:
      return lake.overwrite(random)
    case 3:
      return lake.deleteFile(random)
    case 4:
      return lake.rollBack()
    case 5:
      return random(3) === 0 ? lake.upgradeOnce() : lake.mergeDeletes()
    case 6:
      return lake.mergeDeletes()
    case 7:
    case 8:
    case 9:
      return lake.update(random, 1 + random(3))
    default:
      return lake.delete(random, 1 + random(4))
  }
}

/** Mulberry32: the same numbers for the same seed. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}
