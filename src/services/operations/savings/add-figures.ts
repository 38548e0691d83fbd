type Comparison = { readonly estimated: number; readonly measured: number }

/** Figures of operations that can be added up: numbers, and what plans estimated of them. */
interface Summable {
  readonly planned: {
    readonly operations: number
    readonly files_removed: Comparison
    readonly storage_freed_bytes: Comparison
  }
}

/** The sum of two sets of figures, by the names of the first. Pure. */
export function addFigures<Figures extends Summable>(to: Figures, from: Readonly<Figures>): Figures {
  const sums = Object.entries(to).map(([name, value]): [string, unknown] => {
    const added: unknown = from[name as keyof Figures]
    return [name, typeof value === 'number' && typeof added === 'number' ? value + added : value]
  })
  return { ...to, ...Object.fromEntries(sums), planned: addPlanned(to.planned, from.planned) }
}

function addPlanned(to: Summable['planned'], from: Summable['planned']): Summable['planned'] {
  return {
    operations: to.operations + from.operations,
    files_removed: addComparison(to.files_removed, from.files_removed),
    storage_freed_bytes: addComparison(to.storage_freed_bytes, from.storage_freed_bytes),
  }
}

function addComparison(to: Comparison, from: Comparison): Comparison {
  return { estimated: to.estimated + from.estimated, measured: to.measured + from.measured }
}
