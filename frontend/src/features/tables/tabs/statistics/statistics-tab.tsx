import { useCan } from '../../../../api/session.ts'
import { Notice } from '../../../../components/status/notice.tsx'
import { statistics as words } from '../../../../strings/statistics.ts'
import type { TabProps } from '../tab-props.ts'
import { BoundsSection } from './bounds-section.tsx'
import { ColumnStatisticsSection } from './columns-section.tsx'

/** What the manifests know about the columns of a table, and what a sample of its rows shows. */
export function StatisticsTab(props: TabProps) {
  const canRead = useCan('DataEngineer')
  if (!canRead) return <Notice tone="info">{words.needsRole}</Notice>
  return (
    <>
      <ColumnStatisticsSection key={props.table} {...props} />
      <BoundsSection key={`bounds ${props.table}`} {...props} />
    </>
  )
}
