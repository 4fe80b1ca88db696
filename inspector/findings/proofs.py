"""How each finding is proven, for the page of its id: what is read, and what is held against what.

Beside the catalogue, which says what a finding means: the texts are long, and only the
documentation reads them.
"""

from __future__ import annotations

from collections.abc import Mapping

PROOFS: Mapping[str, str] = {
    "SS101": "By the listing alone: every version between the oldest one that can be restored and "
    "the judged one needs a delta of its number, and this one is in no folder.",
    "SS102": "Every file of the chains is read to its end: its compression frames with their "
    "checksums, the length of each record, the marker at the end, and the row checksums where "
    "there are any. The byte at which it fails is in the table of problems.",
    "SS103": "By the listing: the deltas above the newest snapshot are counted in each partition.",
    "SS104": "The rows of the snapshot are compared with those that a replay of its deltas makes, "
    "key by key, by the size and the hash of each value. Where the deltas before it are gone, what "
    "the delta of its own version wrote is looked up in it.",
    "SS105": "By the listing and by reading: in some partition no snapshot, and no empty version "
    "0, has every delta after it up to the newest committed version.",
    "SS106": "Each row is held against the schema by the checks that Spark itself has: the length, "
    "the null bits, and where each variable part lies.",
    "SS107": "The grouping columns of each live key are hashed as Spark hashes them (Murmur3, seed "
    "42, column by column), and the hash modulo the number of partitions is compared with the "
    "number of the folder that the key's files lie in.",
    "SS108": "A file that the listing of its folder had was not there when it was opened, and the "
    "folder was listed again: what the second look says is judged.",
    "SS109": "The entry of `offsets` for the judged batch, or the operator's metadata, records the "
    "number of partitions; the folders that the operator has are counted against it. The numbers "
    "of the operators must follow one another.",
    "SS110": "The checksum is computed from the file's bytes and compared with the one beside it. "
    "Which of the two is stale is not known by that.",
    "SS111": "Each entry of the logs is compared with its neighbours: the numbers must follow one "
    "another, and what two entries repeat must be the same.",
    "SS112": "The checksum of the file's bytes is compared with the one that was written with it.",
    "SS113": "During the replay each removal is looked up in the map of the version before it.",
    "SS114": "The folders in each partition are held against the stores that the operator's "
    "metadata names or, before Spark 4.0, against the names that Spark gives to stores.",
    "SS116": "By the storage's own answer to a request, which the table of problems has.",
    "SS117": "By the storage's own answer, or by none within the limit of time.",
    "SS118": "During the replay the records of each delta are compared with the watermark and the "
    "time of its batch, as `offsets` records them, and with the keys of the version before.",
    "SS119": "The newest entry of `offsets` has the offsets and the time stamp of a committed "
    "batch and another number of partitions, and there is no entry of `commits` for it.",
    "SS201": "From the schema and the rule of the operator, as its source has it, and from every "
    "version that can be replayed: none of them removed a row. For keys without a timer, from the "
    "timers of all versions of the window.",
    "SS202": "The field of each row is compared with the watermark, or the time, with which the "
    "batch ran that made the judged version, as the operator itself compares them. That the mode "
    "is complete is inferred, so that the finding is; a rule that its user gave proves it.",
    "SS203": "From the records of each key, batch by batch: the timer lay before the clock of a "
    "batch that ran, and the record of that batch stands where Spark writes those of timeouts, "
    "behind all records of new data; or the batch had no new data. Where either is open it is "
    "inferred. The premises are a topic of their own: `proofs`.",
    "SS204": "Rows and removals of every version in the window are counted. That no rule removes "
    "them is inferred from it.",
    "SS205": "Removals are counted over the window, and the times of the rows compared with the "
    "watermark. It is inferred: a range that is longer than the window looks the same.",
    "SS206": "From the log: each entry of `offsets` has its batch's watermark, and the offsets of "
    "each source before and after it. Batches with new data and an unchanged watermark are "
    "counted.",
    "SS207": "From the log: every entry of `offsets` up to the judged batch has the watermark 0, "
    "and some have new offsets.",
    "SS208": "For every key of the join the counter in one store is compared with the rows in the "
    "other, in the judged version.",
    "SS209": "Each field of the join key is compared with the event time of the same row, in all "
    "rows. That it carries no watermark is inferred from rows that one would have removed.",
    "SS210": "It is not: both stories of the key fit all bytes. The reason says which record, or "
    "which entry of the log, would decide it.",
    "SS211": "From the log: the watermark of the judged batch is compared with its batch clock, in "
    "the same entry of `offsets`.",
    "SS212": "The `ttlExpirationMs` that Spark stored with each value is compared with the "
    "processing time of each batch since the value was put, as Spark's own cleanup compares them. "
    "A batch that ran with a later time left the value.",
    "SS213": "The time in each timer's key is compared with the processing time or the watermark "
    "of each batch behind the one that set it. A batch whose clock had come so far left the timer.",
    "SS214": "The grouping key of each timer of the judged version is looked up among those of all "
    "values, lists and maps of its partition, byte for byte.",
    "SS215": "The newest metadata of the operator lists the variables that its processor declared; "
    "the store of this one has rows and is not among them.",
    "SS216": "The entries of each grouping key are counted in the judged version, and those of the "
    "window that came or went. That they go on growing is inferred.",
    "SS301": "The offset log records the format; where it records none, format 1 is what the "
    "release that wrote it has. The schema of the values repeats the key's columns.",
    "SS302": "The rows of every partition of the judged version are counted.",
    "SS303": "The size of every value of the judged version is measured; the median is over all of "
    "them.",
    "SS304": "During the replay each put is compared with the value that the key had: same size "
    "and same 64-bit hash.",
    "SS305": "During the replay the records of each delta are counted.",
    "SS306": "It is an estimate, by what each row, key and value take as Java objects, and what "
    "two versions share. How good it is is a topic of its own: `heap`.",
}
"""Id of a finding -> how it is proven, in whole sentences."""
