import type { ReactNode } from 'react'

interface IconProps {
  /** Edge in px at a text size of 16 px; default 16. */
  readonly size?: number
}

/** Line icons on a grid of 16; they say nothing to screen readers, since words always stand beside or around them. */
function icon(drawing: ReactNode) {
  return function Icon({ size = 16 }: IconProps) {
    return (
      <svg
        width={`${size / 16}rem`}
        height={`${size / 16}rem`}
        viewBox="0 0 16 16"
        fill="none"
        stroke="currentColor"
        strokeWidth="1.4"
        strokeLinecap="round"
        strokeLinejoin="round"
        aria-hidden="true"
        focusable="false"
      >
        {drawing}
      </svg>
    )
  }
}

export const TablesIcon = icon(<path d="M2 3h12v10H2zM2 6.5h12M2 9.75h12M6.5 6.5V13" />)
export const PipelineIcon = icon(<path d="M1.5 8h3l2-5 3 10 2-5h3" />)
export const DesignerIcon = icon(
  <path d="M1.5 2.5h4v3h-4zM10.5 6.5h4v3h-4zM1.5 10.5h4v3h-4zM5.5 4h2.5v4h2.5M5.5 12H8V8" />,
)
export const ApprovalIcon = icon(
  <path d="M8 1.5 13.5 3.5v4c0 3.5-2.5 5.7-5.5 7-3-1.3-5.5-3.5-5.5-7v-4zM5.5 8l2 2 3-3.5" />,
)
export const AgentIcon = icon(<path d="M2 3h12v8.5H8L5 14v-2.5H2zM5.5 7h.01M8 7h.01M10.5 7h.01" />)
export const NotebookIcon = icon(<path d="M3.5 2h9v12h-9zM6 2v12M8.5 5h2M8.5 7.5h2" />)
export const OperationsIcon = icon(<path d="M2 4h6M2 8h9M2 12h4M12 2.5v3M14 11a2.5 2.5 0 1 1-5 0 2.5 2.5 0 0 1 5 0z" />)
export const AuditIcon = icon(<path d="M4 1.5h6l3 3v10H4zM9.5 1.5V5H13M6 8h4.5M6 11h4.5" />)
export const SettingsIcon = icon(
  <path d="M2 4.5h6M12 4.5h2M2 11.5h2M8 11.5h6M10 3v3M10 3a1.5 1.5 0 1 1 0 3 1.5 1.5 0 0 1 0-3M6 10a1.5 1.5 0 1 1 0 3 1.5 1.5 0 0 1 0-3" />,
)
export const CatalogIcon = icon(
  <path d="M2.5 4c0-1.2 2.5-2 5.5-2s5.5.8 5.5 2-2.5 2-5.5 2-5.5-.8-5.5-2zM2.5 4v8c0 1.2 2.5 2 5.5 2s5.5-.8 5.5-2V4M2.5 8c0 1.2 2.5 2 5.5 2s5.5-.8 5.5-2" />,
)
export const SearchIcon = icon(<path d="M11.5 7A4.5 4.5 0 1 1 2.5 7a4.5 4.5 0 0 1 9 0zM10.3 10.3 14 14" />)
export const MenuIcon = icon(<path d="M2 4h12M2 8h12M2 12h12" />)
export const UserIcon = icon(<path d="M8 8a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM2.5 14c.6-3 2.7-4.5 5.5-4.5s4.9 1.5 5.5 4.5" />)
export const SunIcon = icon(
  <path d="M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1" />,
)
export const MoonIcon = icon(<path d="M13.5 9.5A6 6 0 0 1 6.5 2.5a6 6 0 1 0 7 7z" />)
export const SystemIcon = icon(<path d="M1.5 2.5h13v8.5h-13zM5.5 14h5M8 11v3" />)
export const CheckIcon = icon(<path d="M3 8.5 6.5 12 13 4.5" />)
export const CloseIcon = icon(<path d="m4 4 8 8M12 4l-8 8" />)
export const CopyIcon = icon(<path d="M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3" />)
export const WarningIcon = icon(<path d="M8 2 14.5 13.5h-13zM8 6.5v3M8 11.5h.01" />)
export const InfoIcon = icon(<path d="M14.5 8a6.5 6.5 0 1 1-13 0 6.5 6.5 0 0 1 13 0zM8 7.5V11M8 5h.01" />)
export const ArrowUpIcon = icon(<path d="M8 13V3M4 7l4-4 4 4" />)
export const ArrowDownIcon = icon(<path d="M8 3v10M4 9l4 4 4-4" />)
export const ChevronRightIcon = icon(<path d="m6 3.5 4.5 4.5L6 12.5" />)
export const ChevronDownIcon = icon(<path d="m3.5 6 4.5 4.5L12.5 6" />)
export const PlusIcon = icon(<path d="M8 3v10M3 8h10" />)
export const MinusIcon = icon(<path d="M3 8h10" />)
export const EditIcon = icon(<path d="M10.5 2.5l3 3L6 13l-3.5.5L3 10z" />)
export const TrashIcon = icon(<path d="M2.5 4h11M6 4V2.5h4V4M4 4l.7 9.5h6.6L12 4M6.7 6.5v4.5M9.3 6.5v4.5" />)
export const PlayIcon = icon(<path d="M4.5 2.5 13 8l-8.5 5.5z" />)
export const StopIcon = icon(<path d="M3.5 3.5h9v9h-9z" />)
export const MoreIcon = icon(<path d="M3 8h.01M8 8h.01M13 8h.01" />)
export const FitIcon = icon(<path d="M2 6V2h4M10 2h4v4M14 10v4h-4M6 14H2v-4" />)
export const UndoIcon = icon(<path d="M5.5 3 2.5 6l3 3M2.5 6h7a4 4 0 0 1 0 8H6" />)
export const RedoIcon = icon(<path d="m10.5 3 3 3-3 3M13.5 6h-7a4 4 0 0 0 0 8H10" />)
export const ArrangeIcon = icon(<path d="M2 2.5h4v3H2zM2 10.5h4v3H2zM10 6.5h4v3h-4zM6 4h2v8H6M8 8h2" />)
export const DownloadIcon = icon(<path d="M8 2v8M4.5 7 8 10.5 11.5 7M2.5 13.5h11" />)
export const UploadIcon = icon(<path d="M8 10.5v-8M4.5 6 8 2.5 11.5 6M2.5 13.5h11" />)
