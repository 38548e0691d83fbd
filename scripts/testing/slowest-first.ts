import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { SLOW_FILES } from './slow-files.ts'

/** Starts the slowest test files first, so that no worker ends a run alone with one of them. */
export class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const others = await super.sort(files)
    return others.toSorted((a, b) => rankOf(a) - rankOf(b))
  }
}

function rankOf({ moduleId }: TestSpecification): number {
  const rank = SLOW_FILES.indexOf(relative(process.cwd(), moduleId))
  return rank === -1 ? SLOW_FILES.length : rank
}
