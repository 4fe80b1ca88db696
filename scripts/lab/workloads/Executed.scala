package org.apache.spark.sql.execution.streaming.state

import java.io.File
import java.nio.file.Files

//#if >=4.1
import org.apache.spark.sql.execution.streaming.operators.stateful.StateStoreWriter
import org.apache.spark.sql.execution.streaming.runtime.{IncrementalExecution, StreamingQueryWrapper}
//#else
import org.apache.spark.sql.execution.streaming.{IncrementalExecution, StateStoreWriter, StreamingQueryWrapper}
//#end
import org.apache.spark.sql.streaming.StreamingQuery

/** A batch that was executed, by the plan with which it was. */
class Executed(execution: IncrementalExecution) {
  val id: Long = execution.currentBatchId

  /** Watermark and clock are those of the offset log. */
  def json(run: Int, offsets: File): String = {
    val log = new String(Files.readAllBytes(offsets.toPath))
    def logged(name: String) = ("\"" + name + "\":(-?\\d+)").r.findFirstMatchIn(log).map(_.group(1)).getOrElse("0")
    val operators = execution.executedPlan.collect { case o: StateStoreWriter => o }
      .sortBy(_.stateInfo.get.operatorId).map(operator)
    s"""{"b":$id,"W":${logged("batchWatermarkMs")},"P":${logged("batchTimestampMs")},"run":$run,""" +
      s""""ops":[${operators.mkString(",")}]}"""
  }

  private def operator(o: StateStoreWriter): String = {
    val evict = Seq("eventTimeWatermarkForEviction", "eventTimeWatermark") // the latter until 3.4
      .flatMap(ThisSpark.member[Option[Long]](o, _)).headOption.flatten.getOrElse(-1L)
    val predicates = ThisSpark.member[AnyRef](o, "stateWatermarkPredicates").map(_.toString).getOrElse("")
    val name = ThisSpark.hidden[String](o, "shortName") // protected in 3.5
    // Whether it has a predicate by which rows go: there is none if no column of the key has a watermark.
    val goes = Seq("watermarkPredicateForKeysForEviction", "watermarkPredicateForKeys")
      .flatMap(ThisSpark.member[Option[AnyRef]](o, _)).headOption.exists(_.isDefined)
    s"""{"op":${o.stateInfo.get.operatorId},"name":"$name","evict":$evict,"goes":$goes,"pred":${Json.quote(predicates)}}"""
  }
}

object Executed {
  def last(query: StreamingQuery): Option[Executed] = {
    val execution = query match { case wrapped: StreamingQueryWrapper => wrapped.streamingQuery.lastExecution }
    Option(execution).map(new Executed(_))
  }
}
