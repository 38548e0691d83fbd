import { formatBytes, formatCount, formatDuration } from '../../../strings/everywhere/units.ts'
import { fields as words } from '../../../strings/table-actions.ts'
import type { ActionKind } from './action-specs.ts'
import { parseSize } from '../../../components/form/parse-size.ts'
import type { FormValues } from './form-values.ts'

/** What holds for the fields of a form that are left empty, as text, by the names of the fields. */
export type EffectiveDefaults = Readonly<Record<string, string>>

type Properties = Readonly<Record<string, string>>

const MIB = 1024 ** 2
const DAY_MS = 86_400_000

/** The defaults of the service over the properties of a table; `test/frontend` compares them with its own. */
export function effectiveDefaults(kind: ActionKind, properties: Properties, values: FormValues): EffectiveDefaults {
  switch (kind) {
    case 'compact':
      return compactionDefaults(properties, values)
    case 'expire':
      return {
        older_than: words.agoDefault(
          formatDuration(numberIn(properties, 'history.expire.max-snapshot-age-ms', 5 * DAY_MS)),
        ),
        retain_last: formatCount(numberIn(properties, 'history.expire.min-snapshots-to-keep', 1)),
      }
    case 'remove_orphans':
      return { older_than: words.agoDefault(formatDuration(3 * DAY_MS)) }
    default:
      return {}
  }
}

function compactionDefaults(properties: Properties, values: FormValues): EffectiveDefaults {
  const typed = values['target_file_size_bytes']
  const target =
    (typeof typed === 'string' ? parseSize(typed) : undefined) ??
    numberIn(properties, 'write.target-file-size-bytes', 512 * MIB)
  return {
    where: words.allRows,
    target_file_size_bytes: formatBytes(target),
    min_file_size_bytes: formatBytes(Math.floor(target * 0.75)),
    max_file_size_bytes: formatBytes(Math.floor(target * 1.8)),
    min_row_group_size_bytes: formatBytes(8 * MIB),
    min_input_files: '5',
    delete_file_threshold: words.noThreshold,
    delete_ratio_threshold: '0.3',
    max_files_to_rewrite: words.noLimit,
    max_bytes_to_rewrite: words.noLimit,
  }
}

function numberIn(properties: Properties, name: string, fallback: number): number {
  const text = properties[name]
  return text !== undefined && /^\d+$/.test(text) && Number(text) > 0 ? Number(text) : fallback
}
